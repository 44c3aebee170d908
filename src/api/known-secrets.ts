import type { AgentServerConfig } from './agent-server-config.ts';

/** Headers that are written down in clear, and yet may be secret. */
const secretHeader = /auth|key|token|secret|cookie|password/i;

/** Every value of an agent's configuration that no log may show. */
export function knownSecrets({
  env,
  secretEnv = [],
  keys,
  upstream,
  forwards,
}: Pick<AgentServerConfig, 'env' | 'secretEnv' | 'keys' | 'upstream' | 'forwards'>): string[] {
  const { headers = {}, secretHeaders = [], clientSecret, privateKey, blobs } = upstream ?? {};
  const sent = Object.entries(headers).filter(
    ([name]) => secretHeaders.includes(name) || secretHeader.test(name),
  );
  const found = [
    ...secretEnv.map((name) => env[name]),
    ...keys.map(({ secret }) => secret),
    ...sent.map(([, value]) => withoutScheme(value)),
    ...[clientSecret, privateKey, blobs?.secretAccessKey, blobs?.sessionToken],
    ...forwards.flatMap(({ proxyAuthorization }) => credentialOf(proxyAuthorization)),
  ];
  return found.filter((value) => value !== undefined);
}

/** `Bearer abc` → `abc`. */
function withoutScheme(value: string): string {
  return value.trim().replace(/^[A-Za-z]+ +/, '');
}

/** The password of `Basic …`, and the whole as it is sent. */
function credentialOf(header: string | undefined): string[] {
  if (header === undefined) return [];
  const coded = withoutScheme(header);
  return [
    coded,
    Buffer.from(coded, 'base64')
      .toString('utf8')
      .replace(/^[^:]*:/, ''),
  ];
}
