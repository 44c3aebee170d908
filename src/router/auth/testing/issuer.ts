import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

/** An issuer of tokens at an address of this machine, loopback unless `host` says another: a discovery document, keys, and what signs with them. */
export interface TestIssuer {
  readonly url: string;
  /** Paths that were asked. */
  readonly asked: string[];
  /** A token; what `claims` and `header` say replaces what a good one has. */
  sign(claims?: JWTPayload, header?: Record<string, unknown>): Promise<string>;
  /** From now on another key signs, and is published instead of the one before. */
  rotate(): Promise<void>;
  /** The published keys. */
  readonly keys: readonly JWK[];
  /** Ends it; its port is free. */
  stop(): Promise<void>;
}

export async function startIssuer(t: TestContext, host = '127.0.0.1'): Promise<TestIssuer> {
  const asked: string[] = [];
  let count = 0;
  let pair = await makePair();
  async function makePair() {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    count += 1;
    const kid = `k${count}`;
    return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig' } };
  }
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const documents: Record<string, object> = {
      '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/jwks` },
      '/jwks': { keys: [pair.jwk] },
    };
    const document = documents[request.url ?? ''];
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const url = `http://${host}:${(server.address() as AddressInfo).port}`;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  t.after(stop);
  return {
    ...{ url, asked, stop },
    get keys() {
      return [pair.jwk];
    },
    async rotate() {
      pair = await makePair();
    },
    sign(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000);
      const all = {
        iss: url,
        sub: 'ana',
        aud: 'nobody',
        iat: now,
        exp: now + 60,
        scope: 'mcp:tools',
        ...claims,
      };
      return new SignJWT(all)
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: pair.kid, ...header })
        .sign(pair.privateKey);
    },
  };
}
