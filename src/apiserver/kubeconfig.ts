import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeFileAtomic } from '#kit/files.ts';

export interface KubeconfigOptions {
  /** `https://127.0.0.1:<port>` */
  readonly server: string;
  /** PEM. */
  readonly certificate: string;
  readonly token: string;
  readonly namespace: string;
}

/** Writes a kubeconfig (0600) for one server. JSON, which is YAML too. Replaced atomically. */
export async function writeKubeconfig(file: string, options: KubeconfigOptions): Promise<void> {
  const name = 'ploinky';
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server: options.server,
          'certificate-authority-data': Buffer.from(options.certificate).toString('base64'),
        },
      },
    ],
    users: [{ name, user: { token: options.token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: options.namespace } }],
    'current-context': name,
  };
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFileAtomic(file, `${JSON.stringify(config, undefined, 2)}\n`, 0o600);
}
