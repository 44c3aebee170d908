import { run } from '../run.ts';
import { enterNetwork, type Place } from './place.ts';

/**
 * The cluster's network namespace. A pair of devices whose both ends stay inside stands for the node's uplink
 * and leads nowhere: nothing in a test can reach, or leak to, the outside.
 */
export async function makeNetwork(place: Place): Promise<void> {
  await run(['ip', 'netns', 'add', place.netns]);
  // Not `ip netns exec`: it remounts /sys and hides the control groups.
  const script = [
    'ip link set lo up',
    'ip link add node0 type veth peer name node0p',
    'ip link set node0 up',
    'ip link set node0p up',
    `ip addr add ${place.address}/24 dev node0`,
    `ip addr add ${place.dns}/32 dev node0`,
    'ip route add default dev node0',
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
  ].join(' && ');
  await run([...enterNetwork(place), 'sh', '-c', script]);
}
