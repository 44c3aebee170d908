import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { LimitsMethod } from '#drivers/host/limits.ts';

/** Where distributions keep the bundle of certificate authorities. */
const caBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** PEM file of the system's certificate authorities, or undefined where none is found. */
export function findCaBundle(): string | undefined {
  return caBundles.find((path) => existsSync(path));
}

const systemdRun = '/usr/bin/systemd-run';

/** Whether this user's systemd can make scopes; starts an empty one to see. */
export function trySystemdScope(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Extract<LimitsMethod, { type: 'systemd' }> | undefined> {
  const { XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS } = env;
  if (XDG_RUNTIME_DIR === undefined || !existsSync(systemdRun)) return Promise.resolve(undefined);
  const environment = {
    XDG_RUNTIME_DIR,
    ...(DBUS_SESSION_BUS_ADDRESS === undefined ? {} : { DBUS_SESSION_BUS_ADDRESS }),
  };
  const probe = ['--user', '--scope', '--quiet', '--collect', '-p', 'TasksMax=16', '--', '/bin/true'];
  return new Promise((resolve) => {
    execFile(systemdRun, probe, { env: environment, timeout: 5_000 }, (error) => {
      resolve(error === null ? { type: 'systemd', file: systemdRun, environment } : undefined);
    });
  });
}
