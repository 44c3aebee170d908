import { readFile } from 'node:fs/promises';
import type { PodDefaults } from '#api/pod-defaults.ts';
import { podDefaultsSchema } from '#api/pod-defaults.ts';
import { bundleModeOf, type PodSettings } from '#drivers/kubernetes/settings.ts';
import { CodedError, messageOf } from '#kit/errors.ts';
import type { Client } from '#kube/client.ts';
import { parseChoice, parseHostPort } from '../options.ts';
import { followAddress } from './follow-address.ts';
import type { Program } from './program.ts';

/** Flags about the pods of agents. */
export const podFlags = {
  'agent-image': undefined,
  'bundle-image': '',
  bundle: 'Auto',
  'router-address': undefined,
  'egress-address': undefined,
  'storage-access-mode': 'Auto',
  'pod-defaults': '',
  'shared-claim': '',
};
type PodFlags = Readonly<Record<keyof typeof podFlags, string>>;

/** What the flags say of the pods of agents; everything in them that can be checked without the cluster is. Throws Usage. */
export async function readPodFlags(flags: PodFlags) {
  return {
    agentImage: flags['agent-image'],
    bundleImage: flags['bundle-image'] || flags['agent-image'],
    bundle: parseChoice('bundle', flags.bundle, ['Auto', 'ImageVolume', 'InitCopy']),
    router: parseHostPort('router-address', flags['router-address']),
    egress: parseHostPort('egress-address', flags['egress-address']),
    accessMode: parseChoice('storage-access-mode', flags['storage-access-mode'], [
      'Auto',
      'ReadWriteOnce',
      'ReadWriteOncePod',
    ]),
    sharedClaim: flags['shared-claim'],
    defaults: flags['pod-defaults'] === '' ? undefined : await readPodDefaults(flags['pod-defaults']),
  };
}

async function readPodDefaults(file: string): Promise<PodDefaults> {
  try {
    return podDefaultsSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new CodedError('Usage', `--pod-defaults ${file} cannot be used: ${messageOf(error)}`, {
      remedy: 'It is JSON; the field that is wrong stands in the message.',
    });
  }
}

/**
 * What pods are rendered with in this cluster: asks for its version, and resolves the addresses of router and egress
 * proxy, which may take until their Services exist. `onMoved` is called when one of them leads elsewhere.
 */
export async function settlePods(
  flags: Awaited<ReturnType<typeof readPodFlags>>,
  { homeNamespace, clock, log }: Program,
  options: {
    readonly client: Client;
    readonly resolve: (name: string) => Promise<readonly string[]>;
    readonly signal: AbortSignal;
    readonly onMoved: (what: string) => void;
  },
): Promise<PodSettings> {
  const { client, resolve, signal } = options;
  const common = { resolve, clock, log, signal };
  const [routerAddress, egressAddress, version] = await Promise.all([
    followAddress({ ...common, address: flags.router, onChange: () => options.onMoved('router') }),
    followAddress({ ...common, address: flags.egress, onChange: () => options.onMoved('egress') }),
    client.getText('/version', { signal }),
  ]);
  return {
    homeNamespace,
    agentImage: flags.agentImage,
    bundleImage: flags.bundleImage,
    bundle: bundleModeOf(flags.bundle, JSON.parse(version)),
    routerAddress,
    egressAddress,
    accessMode: flags.accessMode,
    ...(flags.sharedClaim !== '' && { sharedClaim: flags.sharedClaim }),
    ...(flags.defaults !== undefined && { defaults: flags.defaults }),
  };
}
