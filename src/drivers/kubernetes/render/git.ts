import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Container, Volume } from '#api/cluster-kinds.ts';
import { driverError } from '../../errors.ts';
import { installConfig } from '../../shared/environment.ts';
import type { CodeSource, Workload } from '../../workload.ts';
import { installSecretName } from '../names.ts';
import type { PodSettings } from '../settings.ts';
import { nothing, type Part, paths, volumeNames } from './parts.ts';
import { setupContainer, throwawayKey } from './setup.ts';
import { podView } from './view.ts';

type GitSource = Extract<CodeSource, { type: 'git' }>;

/** Name of the container whose termination message is the commit. */
export const gitContainerName = 'git';

/** Certificates that git trusts in place of the public ones, when it is there. */
const authorityFile = `${paths.gitAuthority}/ca.crt`;

/**
 * Nothing of the author's is part of it: it all comes through the environment. A server that does not give a single
 * commit by its name is asked for its branches and tags. What git itself keeps is not for the agent.
 */
const script = `set -eu
if [ -e ${authorityFile} ]; then export GIT_SSL_CAINFO=${authorityFile} GIT_SSL_CAPATH=${paths.gitAuthority}; fi
cd ${paths.code}
rm -rf -- * .[!.]* ..?*
git init -q
git remote add origin "$PLOINKY_GIT_URL"
want=\${PLOINKY_GIT_COMMIT:-\${PLOINKY_GIT_REF:-HEAD}}
if git fetch -q --depth 1 -- origin "$want"; then
  git checkout -q --detach FETCH_HEAD
else
  git fetch -q --tags -- origin '+refs/heads/*:refs/heads/fetched/*'
  git checkout -q --detach "$want"
fi
if [ -n "\${PLOINKY_GIT_PATH:-}" ] && ! [ -d "$PLOINKY_GIT_PATH" ]; then
  echo "spec.code.git.path: the repository has no folder $PLOINKY_GIT_PATH" >&2
  exit 1
fi
git rev-parse HEAD > /dev/termination-log
rm -rf .git`;

/** \`token\` or \`user:password\`, read when git asks; any user name goes with a token. */
const credentialHelper = `!f() { test "$1" = get || exit 0; IFS= read -r line < ${paths.gitCredential}/credential || test -n "$line" || exit 0; case "$line" in *:*) echo "username=\${line%%:*}"; echo "password=\${line#*:}";; *) echo username=x-access-token; echo "password=$line";; esac; }; f`;

/** Fetches the code before the agent starts, with a credential that the agent never has. Throws TerminalError. */
export function gitPart(workload: Workload, settings: PodSettings): Part {
  const { code, id } = workload;
  if (code?.type !== 'git') return nothing;
  checkSource(code);
  const config = {
    secretName: installSecretName(id.name),
    items: [{ key: 'git.json', path: 'config.json' }],
  };
  const given = [credentialFolder(code), authorityFolder(code)].filter((folder) => folder !== undefined);
  return {
    mounts: [],
    volumes: [
      { name: volumeNames.gitConfig, secret: { ...config, defaultMode: 0o440 } },
      ...given.map(({ volume }) => volume),
    ],
    init: [gitContainer(given, settings)],
  };
}

/** A key of somebody's object, as a folder that only this container has. */
interface GivenFolder {
  readonly volume: Volume;
  readonly mountPath: string;
}

function credentialFolder({ credentials }: GitSource): GivenFolder | undefined {
  if (credentials === undefined) return undefined;
  const volume = { name: volumeNames.gitCredential, secret: secretOf(credentials, 'credential') };
  return { volume, mountPath: paths.gitCredential };
}

function authorityFolder({ ca }: GitSource): GivenFolder | undefined {
  const { secretKeyRef, configMapKeyRef } = ca ?? {};
  const name = volumeNames.gitAuthority;
  const mountPath = paths.gitAuthority;
  if (secretKeyRef !== undefined)
    return { volume: { name, secret: secretOf(secretKeyRef, 'ca.crt') }, mountPath };
  if (configMapKeyRef === undefined) return undefined;
  const configMap = { name: configMapKeyRef.name, ...itemOf(configMapKeyRef, 'ca.crt') };
  return { volume: { name, configMap }, mountPath };
}

type KeyRef = NonNullable<GitSource['credentials']>;

function secretOf(ref: KeyRef, path: string) {
  return { secretName: ref.name, ...itemOf(ref, path), defaultMode: 0o440 };
}

function itemOf({ key, optional }: KeyRef, path: string) {
  return { items: [{ key, path }], ...(optional === undefined ? {} : { optional }) };
}

function gitContainer(given: readonly GivenFolder[], settings: PodSettings): Container {
  const container = setupContainer(settings, {
    name: gitContainerName,
    config: `${paths.gitConfig}/config.json`,
    command: ['/bin/sh', '-c', script],
  });
  return {
    ...container,
    volumeMounts: [
      ...(container.volumeMounts ?? []),
      { name: volumeNames.code, mountPath: paths.code },
      { name: volumeNames.gitConfig, mountPath: paths.gitConfig, readOnly: true },
      ...given.map(({ volume: { name }, mountPath }) => ({ name, mountPath, readOnly: true })),
    ],
  };
}

function checkSource({ url, ref }: GitSource): void {
  if (!url.startsWith('https://')) {
    const message =
      'spec.code.git.url: a pod fetches through the egress proxy, which is done over https only.';
    throw driverError('CodeSource', message);
  }
  if (ref?.startsWith('-')) throw driverError('CodeSource', 'spec.code.git.ref: must not begin with "-".');
}

/**
 * Configuration of the container that fetches; undefined without a git source. `commit` pins it: every pod of one
 * spec has the same code. Secret.
 */
export function gitConfig(
  workload: Workload,
  settings: PodSettings,
  commit: string | undefined,
): AgentServerConfig | undefined {
  const { code } = workload;
  if (code?.type !== 'git') return undefined;
  const token = workload.fetchToken ?? workload.install?.egressToken ?? '';
  const step = { command: [], env: gitEnvironment(code, commit), egress: [], egressToken: token };
  const view = { ...podView(workload, settings), deps: undefined };
  const options = { instance: '', throwawayKey: throwawayKey(workload.id), caBundle: undefined };
  return installConfig(workload, { ...step, timeoutSeconds: 0, digest: '' }, view, options);
}

function gitEnvironment(code: GitSource, commit: string | undefined): Record<string, string> {
  const settings: [string, string][] = [
    // The folder belongs to root and to the pod's group.
    ['safe.directory', '*'],
    ...(code.credentials === undefined ? [] : [['credential.helper', credentialHelper] as [string, string]]),
  ];
  return {
    PLOINKY_GIT_URL: code.url,
    ...(code.ref === undefined ? {} : { PLOINKY_GIT_REF: code.ref }),
    ...(code.path === undefined ? {} : { PLOINKY_GIT_PATH: code.path }),
    ...(commit === undefined ? {} : { PLOINKY_GIT_COMMIT: commit }),
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'https',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  };
}

/** Whether the source names one commit by itself, so that nothing has to be found out first. */
export function isPinned({ code }: Workload): boolean {
  return code?.type !== 'git' || /^[0-9a-f]{40}$/.test(code.ref ?? '');
}
