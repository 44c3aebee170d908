import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeName, type Place, pauseImage, podCidr } from './place.ts';

/** Folders with the programs. */
export interface Programs {
  readonly kube: string;
  readonly containerd: string;
  readonly coredns: string;
  readonly kwok: string;
  readonly helm: string;
  readonly pause: string;
}

/** Writes every program's configuration. What is JSON here is read as YAML by the programs. */
export async function writeConfigurations(place: Place, programs: Programs): Promise<void> {
  for (const folder of ['config', 'cni', 'etcd', 'kubelet', 'log', 'run', 'volumes'])
    await mkdir(place.file(folder), { recursive: true });
  const json = (name: string, content: object) =>
    writeFile(place.file('config', name), JSON.stringify(content, null, 2));
  await json('audit.json', {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: 'Metadata' }],
  });
  await json('kubelet.json', kubeletConfiguration(place));
  await json('proxy.json', proxyConfiguration(place));
  await json('scheduler.json', schedulerConfiguration(place));
  await writeFile(place.file('config', 'containerd.toml'), containerdConfiguration(place, programs));
  await writeFile(place.file('config', 'Corefile'), corefile(place));
  await writeFile(place.file('cni', '10-pods.conflist'), JSON.stringify(podNetwork(place), null, 2));
}

function kubeletConfiguration(place: Place) {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${place.file('containerd.sock')}`,
    // Hosts with the first version of control groups are tested on too.
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${place.cgroup}`,
    enforceNodeAllocatable: [],
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: place.file('pki', 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: place.file('pki', 'kubelet.crt'),
    tlsPrivateKeyFile: place.file('pki', 'kubelet.key'),
    clusterDomain: 'cluster.local',
    clusterDNS: [place.dns],
    resolvConf: '',
    failSwapOn: false,
    podLogsDir: place.file('log', 'pods'),
    volumePluginDir: place.file('kubelet', 'volume-plugins'),
    imageGCHighThresholdPercent: 100,
    evictionHard: { 'imagefs.available': '1%', 'nodefs.available': '1%' },
    syncFrequency: '5s',
    kubeAPIQPS: 1000,
    kubeAPIBurst: 2000,
    serializeImagePulls: false,
  };
}

function proxyConfiguration(place: Place) {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig: place.file('kubeconfig', 'proxy') },
    mode: 'iptables',
    clusterCIDR: podCidr,
    hostnameOverride: nodeName,
    // The machine's own limits are not the cluster's to change.
    conntrack: { maxPerCore: 0, min: 0 },
  };
}

function schedulerConfiguration(place: Place) {
  return {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    // The defaults would hide every figure of scale.
    clientConnection: { kubeconfig: place.file('kubeconfig', 'scheduler'), qps: 1000, burst: 2000 },
    leaderElection: { leaderElect: false },
  };
}

function containerdConfiguration(place: Place, programs: Programs): string {
  return `version = 3
root = "${place.file('containerd', 'root')}"
state = "${place.file('containerd', 'state')}"
[grpc]
  address = "${place.file('containerd.sock')}"
[ttrpc]
  address = "${place.file('containerd.ttrpc')}"
[plugins.'io.containerd.shim.v1.manager']
  # Of 42 bytes at most, so not in the cluster's folder by its name; what is below /var lies there all the same.
  socket_dir = "/var/lib/shims"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${pauseImage}"
[plugins.'io.containerd.cri.v1.runtime']
  # Without it runc ends with "can't get final child's PID" where a score may not be lowered.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
  runtime_path = "${join(programs.containerd, 'containerd-shim-runc-v2')}"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false
  Root = "${place.file('runc')}"
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni", "/opt/cni/bin"]
  conf_dir = "${place.file('cni')}"
`;
}

/** Routed, not bridged: answers of a Service's pod pass the node whether or not bridges call iptables. */
function podNetwork(place: Place) {
  const ipam = {
    type: 'host-local',
    dataDir: place.file('cni-addresses'),
    ranges: [[{ subnet: podCidr }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const plugins = [
    { type: 'ptp', ipMasq: false, ipam },
    { type: 'portmap', capabilities: { portMappings: true } },
  ];
  return { cniVersion: '1.0.0', name: 'pods', plugins };
}

/** Names outside the cluster do not exist. Without the second zone the answer were a refusal, which clients retry. */
function corefile(place: Place): string {
  return `cluster.local:53 in-addr.arpa:53 {
  bind ${place.dns}
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${place.file('kubeconfig', 'dns')}
  }
}
.:53 {
  bind ${place.dns}
  template ANY ANY . {
    rcode NXDOMAIN
  }
}
`;
}
