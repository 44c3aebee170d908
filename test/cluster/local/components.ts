import { join } from 'node:path';
import type { Programs } from './files.ts';
import { nodeName, type Place, serviceCidr } from './place.ts';

export type Component =
  | 'etcd'
  | 'apiserver'
  | 'containerd'
  | 'manager'
  | 'scheduler'
  | 'kubelet'
  | 'proxy'
  | 'dns'
  | 'kwok';

/** The command line of every process of a cluster. */
export function componentCommands(place: Place, programs: Programs): Record<Component, string[]> {
  const kubelab = join(programs.kube, 'kubelab');
  const etcd = 'http://127.0.0.1:2379';
  const kubeconfig = (name: string) => ['--kubeconfig', place.file('kubeconfig', name)];
  const config = (name: string) => ['--config', place.file('config', name)];
  return {
    etcd: [
      ...[kubelab, 'etcd', '--data-dir', place.file('etcd'), '--unsafe-no-fsync', '--log-level', 'warn'],
      ...['--listen-client-urls', etcd, '--advertise-client-urls', etcd],
      ...['--listen-peer-urls', 'http://127.0.0.1:2380'],
    ],
    apiserver: [kubelab, 'kube-apiserver', '--etcd-servers', etcd, ...apiserverFlags(place)],
    containerd: [join(programs.containerd, 'containerd'), '-c', place.file('config', 'containerd.toml')],
    manager: [
      ...[kubelab, 'kube-controller-manager', ...kubeconfig('manager'), '--leader-elect=false'],
      ...['--cert-dir', place.file('pki', 'manager'), '--kube-api-qps', '1000', '--kube-api-burst', '2000'],
      ...['--use-service-account-credentials', '--root-ca-file', place.file('pki', 'ca.crt')],
      ...['--service-account-private-key-file', place.file('pki', 'sa.key')],
    ],
    scheduler: [
      kubelab,
      'kube-scheduler',
      ...config('scheduler.json'),
      '--cert-dir',
      place.file('pki', 'scheduler'),
    ],
    kubelet: [
      ...[kubelab, 'kubelet', ...kubeconfig('kubelet'), ...config('kubelet.json')],
      ...['--root-dir', place.file('kubelet'), '--cert-dir', place.file('pki', 'kubelet')],
      ...['--hostname-override', nodeName, '--node-ip', place.address],
    ],
    proxy: [kubelab, 'kube-proxy', ...config('proxy.json')],
    dns: [join(programs.coredns, 'coredns'), '-conf', place.file('config', 'Corefile')],
    kwok: [
      ...[join(programs.kwok, 'kwok'), ...kubeconfig('kwok'), '--config', join(programs.kwok, 'stages.yaml')],
      '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
    ],
  };
}

function apiserverFlags(place: Place): string[] {
  const pki = (name: string) => place.file('pki', name);
  return [
    ...['--advertise-address', place.address, '--bind-address', place.address, '--secure-port', '6443'],
    ...['--tls-cert-file', pki('apiserver.crt'), '--tls-private-key-file', pki('apiserver.key')],
    ...['--client-ca-file', pki('ca.crt'), '--kubelet-certificate-authority', pki('ca.crt')],
    ...['--kubelet-client-certificate', pki('apiserver-kubelet-client.crt')],
    ...['--kubelet-client-key', pki('apiserver-kubelet-client.key')],
    // Nobody resolves the node's name: logs and exec go to its address.
    ...['--kubelet-preferred-address-types', 'InternalIP'],
    ...['--service-cluster-ip-range', serviceCidr],
    ...['--service-account-issuer', 'https://kubernetes.default.svc.cluster.local'],
    ...['--service-account-key-file', pki('sa.pub'), '--service-account-signing-key-file', pki('sa.key')],
    ...[
      '--authorization-mode',
      'Node,RBAC',
      '--enable-admission-plugins',
      'NodeRestriction',
      '--allow-privileged',
    ],
    ...['--audit-policy-file', place.file('config', 'audit.json'), '--audit-log-path', auditLog(place)],
    // In one file: a test reads all of it.
    ...['--audit-log-maxsize', '4000'],
  ];
}

export function auditLog(place: Place): string {
  return place.file('log', 'audit.jsonl');
}
