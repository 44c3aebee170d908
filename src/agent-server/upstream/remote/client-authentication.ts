import { createPrivateKey, type KeyObject } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import type { UpstreamSecrets } from '#api/agent-server-config.ts';
import { messageOf } from '#kit/errors.ts';
import { unusable } from './discovery.ts';

/** How the agent proves to the authorization server who it is: what that offers, of what the Agent has. */
export function clientAuthentication(
  server: oauth.AuthorizationServer,
  { clientSecret, privateKey }: UpstreamSecrets,
): oauth.ClientAuth {
  const offered = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  if (privateKey !== undefined) {
    if (!offered.includes('private_key_jwt')) throw notOffered(offered, 'oauth.clientSecretRef');
    return oauth.PrivateKeyJwt(readPrivateKey(privateKey, server));
  }
  if (clientSecret === undefined) {
    throw unusable(
      'the Agent has neither a client secret nor a private key',
      'Give mcp.upstream.oauth.clientSecretRef.',
    );
  }
  if (offered.includes('client_secret_basic')) return secretInHeader(clientSecret);
  if (offered.includes('client_secret_post')) return oauth.ClientSecretPost(clientSecret);
  throw notOffered(offered, 'oauth.privateKeyRef');
}

/**
 * RFC 6749, section 2.3.1, and no more: the library encodes "-", "_" and "." as well, which many servers do not decode.
 */
export function secretInHeader(secret: string): oauth.ClientAuth {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return (_server, { client_id: id }, _body, headers) => {
    const pair = `${encode(id)}:${encode(secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
  };
}

function notOffered(offered: readonly string[], other: string): Error {
  return unusable(
    `the authorization server lets clients log in by ${offered.join(', ')} alone`,
    `See whether mcp.upstream.${other} suits it.`,
  );
}

function readPrivateKey(pem: string, server: oauth.AuthorizationServer): oauth.CryptoKey {
  try {
    const key = createPrivateKey(pem);
    return key.toCryptoKey(algorithmOf(key, server), false, ['sign']);
  } catch (error) {
    throw unusable(
      `the private key cannot be used: ${messageOf(error)}`,
      'mcp.upstream.oauth.privateKeyRef needs an RSA, EC (P-256, P-384) or Ed25519 key in PEM.',
    );
  }
}

function algorithmOf(
  key: KeyObject,
  server: oauth.AuthorizationServer,
): Parameters<KeyObject['toCryptoKey']>[0] {
  const accepted = server.token_endpoint_auth_signing_alg_values_supported;
  switch (key.asymmetricKeyType) {
    case 'rsa': {
      const name =
        accepted?.includes('PS256') && !accepted.includes('RS256') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5';
      return { name, hash: 'SHA-256' };
    }
    case 'ec': {
      const isLong = key.asymmetricKeyDetails?.namedCurve === 'secp384r1';
      return { name: 'ECDSA', namedCurve: isLong ? 'P-384' : 'P-256' };
    }
    case 'ed25519':
      return { name: 'Ed25519' };
    default:
      throw new Error(`keys of type ${key.asymmetricKeyType ?? 'unknown'} are not known`);
  }
}
