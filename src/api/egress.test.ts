import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { agentSpecSchema } from './agent.ts';
import { type EgressRule, egressAllows, installEgress, runEgress } from './egress.ts';

const exact: EgressRule[] = [{ host: 'API.Example.com' }];
const wildcard: EgressRule[] = [{ host: '*.example.com', ports: [443, 8443] }];
const range: EgressRule[] = [{ cidr: '203.0.113.0/24', ports: [80] }, { cidr: '2001:db8::/32' }];

describe('egressAllows', () => {
  const cases: readonly [string, readonly EgressRule[], string, number, boolean][] = [
    ['nothing without rules', [], 'example.com', 443, false],
    ['an exact name', exact, 'api.example.com', 443, true],
    ['a name whatever its case', exact, 'aPi.eXample.COM', 443, true],
    ['a name with a trailing dot', exact, 'api.example.com.', 443, true],
    ['no name with two trailing dots', exact, 'api.example.com..', 443, false],
    ['no other port than 443 by default', exact, 'api.example.com', 80, false],
    ['no name below an exact one', exact, 'x.api.example.com', 443, false],
    ['no name that only ends like it', exact, 'evilapi.example.com', 443, false],
    ['no name that only begins like it', exact, 'api.example.com.evil.com', 443, false],
    ['a name below a wildcard', wildcard, 'a.example.com', 8443, true],
    ['a name far below a wildcard', wildcard, 'a.b.example.com', 443, true],
    ['not the wildcard’s own name', wildcard, 'example.com', 443, false],
    ['no name that only ends like a wildcard', wildcard, 'evilexample.com', 443, false],
    ['no empty label below a wildcard', wildcard, '.example.com', 443, false],
    ['not the wildcard itself on another port', wildcard, 'a.example.com', 80, false],
    ['an address in a range', range, '203.0.113.9', 80, true],
    ['no address outside', range, '203.0.114.9', 80, false],
    ['no name for a range', range, 'host.example', 80, false],
    ['an IPv6 address in brackets', range, '[2001:db8::1]', 443, true],
    ['no IPv6 address outside', range, '2001:db9::1', 443, false],
    ['no IPv4-mapped form of an address in a range', range, '::ffff:203.0.113.9', 80, false],
    ['no number that stands for an address', range, '3405803785', 80, false],
    ['nothing for an empty host', [{ host: '*.com' }], '', 443, false],
    ['nothing for a range that is none', [{ cidr: '203.0.113.0/x' }], '203.0.113.1', 443, false],
  ];
  for (const [name, rules, host, port, expected] of cases) {
    it(`allows ${name}`, () => assert.equal(egressAllows(rules, host, port), expected));
  }
});

it('an Agent that says nothing reaches nothing, and installs from npm and PyPI', () => {
  const spec = agentSpecSchema.parse({});
  assert.deepEqual(runEgress(spec), []);
  for (const host of ['registry.npmjs.org', 'pypi.org', 'files.pythonhosted.org']) {
    assert.ok(egressAllows(installEgress(spec), host, 443), host);
  }
});

it('rules of a spec come out as they are written', () => {
  const egress = [{ host: 'a.example' }, { cidr: '203.0.113.0/24', ports: [1, 2] }];
  const spec = agentSpecSchema.parse({ network: { egress, installEgress: [] } });
  assert.deepEqual(runEgress(spec), egress);
  assert.deepEqual(installEgress(spec), []);
});

it('a remote upstream and the authorization server that the spec names count as listed, addresses do not', () => {
  const oauth = { mode: 'clientCredentials', issuer: 'https://auth.example:8443/realm', clientId: 'c' };
  const clientSecretRef = { name: 's', key: 'k' };
  const of = (url: string, more = {}) =>
    runEgress(agentSpecSchema.parse({ mcp: { upstream: { url, ...more } } }));
  assert.deepEqual(of('https://mcp.example/mcp', { oauth: { ...oauth, clientSecretRef } }), [
    { host: 'mcp.example', ports: [443] },
    { host: 'auth.example', ports: [8443] },
  ]);
  assert.deepEqual(of('http://mcp.example'), [{ host: 'mcp.example', ports: [80] }]);
  for (const url of [
    'https://10.1.2.3/mcp',
    'https://[fd00::1]/',
    'http://0x0a010203/',
    'https://*.example/',
  ])
    assert.deepEqual(of(url), [], url);
});

it('the store of blobs counts as listed, with the bucket before its host where it stands there', () => {
  const of = (endpoint: string, pathStyle: boolean) => {
    const s3 = { endpoint, bucket: 'files', pathStyle, credentialsSecretRef: { name: 's' } };
    return runEgress(agentSpecSchema.parse({ storage: { blobs: { s3 } } }));
  };
  assert.deepEqual(of('https://s3.example', true), [{ host: 's3.example', ports: [443] }]);
  assert.deepEqual(of('http://s3.example:9000', false), [{ host: 'files.s3.example', ports: [9000] }]);
  assert.deepEqual(of('https://10.1.2.3', true), []);
});
