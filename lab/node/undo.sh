# Undoes a node: its processes, mounts, cgroups, network, sysctls, links and its folder. Runs once its standard input ends, which is
# when the node is stopped or the process that started it is gone, however that ended. Safe to run again.
folder=${1:?} cgroup=${2:?}
read -r _

trees() { awk '$3 == "cgroup" || $3 == "cgroup2" {print $2}' /proc/mounts; }
ours() { grep -qsF "$folder/" "/proc/$1/cmdline"; } # false if another process has the number by now

# The kubelet first: it would start what ends. Their guards end both; a guard that was killed itself leaves its file.
for name in kubelet containerd; do
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    pid=$(cat "$folder/$name.pid" 2>/dev/null) || break
    ours "$pid" || break
    sleep 0.1
  done
  pid=$(cat "$folder/$name.pid" 2>/dev/null) && ours "$pid" && kill -KILL "$pid"
done

# Containers outlive both, and so do their shims, one for each pod.
for shim in $(grep -lsF "$folder/containerd.sock" /proc/[0-9]*/cmdline); do
  shim=${shim#/proc/}
  kill -KILL "${shim%/cmdline}" 2>/dev/null
done
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  inside=$(for tree in $(trees); do find "$tree/$cgroup" -name cgroup.procs -exec cat {} + 2>/dev/null; done | sort -u)
  [ -n "$inside" ] || break
  kill -KILL $inside 2>/dev/null
  sleep 0.1
done

# Their sockets are at a path that containerd has built in.
find "$folder/containerd-run" -name address 2>/dev/null | while read -r file; do
  socket=$(cat "$file")
  rm -f "${socket#unix://}"
done

awk -v below="$folder/" 'index($2, below) == 1 {print $2}' /proc/mounts | sort -r | while read -r at; do umount -l "$at"; done
for tree in $(trees); do
  find "$tree/$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
done
find /var/log/containers -lname "$folder/*" -delete 2>/dev/null # at a path the kubelet has built in
network=$(cat "$folder/network" 2>/dev/null)
if [ -n "$network" ]; then
  ip link delete "$network" 2>/dev/null
  for result in "/var/lib/cni/results/$network"-*; do
    container=${result##*/"$network"-}
    rm -f "$result" "/var/lib/cni/results/cni-loopback-${container%-*}-lo"
  done
fi
if [ -f "$folder/sysctls" ]; then
  while read -r file value; do echo "$value" >"$file" 2>/dev/null; done <"$folder/sysctls"
fi
if grep -qF " $folder/" /proc/mounts; then
  echo "still mounted below $folder: nothing is removed" >&2
else
  rm -rf "$folder"
fi
