#!/bin/sh
# Makes the databases of a cloud, their tables and the first user: schemas.sh <venv> <folder> <password> <Keystone URL>.
# MariaDB runs in the folder already.
set -eu
bin=$1/bin etc=$2/etc

for database in keystone nova_api nova_cell0 nova_cell1 neutron placement glance octavia; do
  echo "CREATE DATABASE $database CHARACTER SET utf8mb3;"
done | mariadb --no-defaults -uroot -S "$2/mysql.sock"

nova() { "$bin/nova-manage" --config-file "$etc/nova.conf" "$@"; }
# What is in braces is taken from the configuration, which knows the folder and the port of each start.
nova_cells() {
  nova api_db sync
  nova cell_v2 map_cell0 --database_connection '{scheme}://{username}@{hostname}/nova_cell0?{query}'
  nova db sync
  nova cell_v2 create_cell --name cell1 --database_connection '{scheme}://{username}@{hostname}/{path}?{query}' \
    --transport-url '{scheme}://{username}:{password}@{hostname}:{port}/{path}'
}

nova_cells & pids=$!
"$bin/keystone-manage" --config-file "$etc/keystone.conf" db_sync & pids="$pids $!"
"$bin/neutron-db-manage" --config-file "$etc/neutron.conf" upgrade heads & pids="$pids $!"
"$bin/placement-manage" --config-file "$etc/placement.conf" db sync & pids="$pids $!"
"$bin/glance-manage" --config-file "$etc/glance-api.conf" db_sync & pids="$pids $!"
"$bin/octavia-db-manage" --config-file "$etc/octavia.conf" upgrade head & pids="$pids $!"
for pid in $pids; do wait "$pid"; done

keystone() { "$bin/keystone-manage" --config-file "$etc/keystone.conf" "$@"; }
mkdir -p "$2/data/fernet-keys" "$2/data/credential-keys"
# Only root has to say who may read them.
owner=
[ "$(id -u)" -ne 0 ] || owner="--keystone-user root --keystone-group root"
keystone fernet_setup $owner
keystone credential_setup $owner
keystone bootstrap --bootstrap-password "$3" --bootstrap-region-id RegionOne --bootstrap-public-url "$4" \
  --bootstrap-internal-url "$4" --bootstrap-admin-url "$4"
