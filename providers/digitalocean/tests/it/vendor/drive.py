import sys

from pydo import Client

url, token = sys.argv[1:]
client = Client(token=token, endpoint=url)
plain = {"enforce_https": False}
print("account", client.account.get(**plain)["account"]["status"])
droplets = client.droplets.list(per_page=200, **plain)
print("droplets", len(droplets["droplets"]), "of", droplets["meta"]["total"])
rule = {"entry_protocol": "tcp", "entry_port": 80, "target_protocol": "tcp", "target_port": 30080}
body = {"name": "driven", "region": "fra1", "forwarding_rules": [rule], "droplet_ids": [d["id"] for d in droplets["droplets"]]}
created = client.load_balancers.create(body=body, **plain)["load_balancer"]
print("created", created["status"])
print("then", client.load_balancers.get(lb_id=created["id"], **plain)["load_balancer"]["status"])
body["forwarding_rules"].append({"entry_protocol": "udp", "entry_port": 53, "target_protocol": "udp", "target_port": 30053})
print("rules", len(client.load_balancers.update(lb_id=created["id"], body=body, **plain)["load_balancer"]["forwarding_rules"]))
client.tags.create(body={"name": "nodes"}, **plain)
inbound = [{"protocol": "tcp", "ports": "30080", "sources": {"addresses": ["0.0.0.0/0"]}}]
firewall = client.firewalls.create(body={"name": "driven", "tags": ["nodes"], "inbound_rules": inbound}, **plain)["firewall"]
print("firewall", firewall["status"])
client.firewalls.delete(firewall_id=firewall["id"], **plain)
client.load_balancers.delete(lb_id=created["id"], **plain)
print("gone" if client.load_balancers.get(lb_id=created["id"], **plain).get("id") == "not_found" else "still there")
