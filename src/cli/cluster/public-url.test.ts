import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CliError } from '../errors.ts';
import type { Ingress } from './objects.ts';
import { parseRouterUrl, urlOfIngress } from './public-url.ts';

function ingress(spec: Ingress['spec'], taken = true): Ingress {
  const status = taken ? { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } } : {};
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'r' },
    ...status,
    ...(spec && { spec }),
  };
}

test('the URL of a router is http or https, without query, fragment and password', () => {
  assert.equal(parseRouterUrl('https://agents.example.org/'), 'https://agents.example.org');
  assert.equal(parseRouterUrl('http://h:8080/below/'), 'http://h:8080/below');
  for (const text of [
    'agents.example.org',
    'ftp://h',
    'https://h/?a',
    'https://h/#a',
    'https://me:pw@h',
    '',
  ]) {
    assert.throws(() => parseRouterUrl(text), CliError, text);
  }
});

test('an Ingress names a URL once a controller has taken it up', () => {
  const rules = [{ host: 'a.example.org', http: { paths: [{ path: '/' }] } }];
  assert.equal(urlOfIngress(ingress({ rules })), 'http://a.example.org');
  assert.equal(urlOfIngress(ingress({ rules }, false)), undefined);
});

test('the URL of an Ingress is https where its host has TLS, and keeps the path', () => {
  const rules = [{ host: '*.example.org' }, { host: 'a.example.org', http: { paths: [{ path: '/ai/' }] } }];
  assert.equal(
    urlOfIngress(ingress({ rules, tls: [{ hosts: ['a.example.org'] }] })),
    'https://a.example.org/ai',
  );
  assert.equal(
    urlOfIngress(ingress({ rules, tls: [{ hosts: ['b.example.org'] }] })),
    'http://a.example.org/ai',
  );
  assert.equal(urlOfIngress(ingress({ rules, tls: [{}] })), 'https://a.example.org/ai');
});

test('an Ingress for every host or for patterns alone names none', () => {
  assert.equal(urlOfIngress(ingress({ rules: [{}] })), undefined);
  assert.equal(urlOfIngress(ingress({ rules: [{ host: '*.example.org' }] })), undefined);
  assert.equal(urlOfIngress(ingress(undefined)), undefined);
});
