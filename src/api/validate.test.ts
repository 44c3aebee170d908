import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatFieldErrors } from './field-error.ts';
import { wrongObjects } from './testing/wrong-objects.ts';
import { parseObject, validateAgent, validateObject, validateRoute, validateTask } from './validate.ts';

const object = (kind: string, spec: unknown) => ({
  apiVersion: 'ploinky.dev/v1alpha1',
  kind,
  metadata: { name: 'demo' },
  spec,
});
const agent = (spec: unknown) => object('Agent', spec);

describe('A wrong object is answered with an error that names the field', () => {
  for (const { kind, spec, error } of wrongObjects) {
    it(`${kind}: ${error.slice(0, 100)}`, () => {
      assert.equal(formatFieldErrors(validateObject(kind, object(kind, spec))), error);
    });
  }

  it('names every wrong field at once', () => {
    const errors = validateAgent(agent({ role: 'A', runtime: { replicas: -1 }, extra: 1 }));
    assert.deepEqual(errors.map(({ path }) => path).sort(), [
      'spec.extra',
      'spec.role',
      'spec.runtime.replicas',
    ]);
  });

  it('never repeats a value that may be a secret', () => {
    const secret = 'hunter2-hunter2';
    const errors = validateAgent(
      agent({ env: [{ name: secret, value: { secret } }], code: { path: `/${secret}` } }),
    );
    assert.equal(errors.length, 3);
    assert.ok(!formatFieldErrors(errors).includes(secret));
  });
});

describe('What surrounds the spec is checked too', () => {
  const good = agent({});
  const cases: readonly [unknown, string][] = [
    [null, 'Agent: must be an object'],
    [{ ...good, apiVersion: 'v1' }, 'apiVersion: must be ploinky.dev/v1alpha1'],
    [{ ...good, kind: 'Route' }, 'kind: must be Agent'],
    [{ ...good, sepc: {} }, 'sepc: is not a field of Agent; it has apiVersion, kind, metadata, spec, status'],
    [{ ...good, metadata: {} }, 'metadata.name: is required; give the object a name'],
    [
      { ...good, metadata: { name: 'a.b' } },
      'metadata.name: of Agent must be lower-case letters, digits and "-", without dots, and begin and end with a letter or digit',
    ],
    [
      { ...good, metadata: { name: 'a'.repeat(64) } },
      'metadata.name: must be at most 63 characters; choose a shorter name',
    ],
  ];
  for (const [object, expected] of cases) {
    it(expected, () => assert.equal(formatFieldErrors(validateAgent(object)), expected));
  }
});

describe('A right object comes out with its defaults', () => {
  it('fills in an Agent that says nothing', () => {
    const parsed = parseObject('Agent', agent({}));
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.object.spec, {
      runtime: { class: 'Auto', replicas: 1, suspend: false, idleAfterSeconds: 0 },
      storage: { retain: true },
      network: {
        egress: [],
        installEgress: [
          { host: 'registry.npmjs.org' },
          { host: 'pypi.org' },
          { host: 'files.pythonhosted.org' },
        ],
      },
      auth: { mode: 'none' },
    });
  });

  it('keeps metadata and status as they are', () => {
    const whole = { ...agent({}), metadata: { name: 'demo', labels: { a: 'b' } }, status: { anything: 1 } };
    const parsed = parseObject('Agent', whole);
    assert.ok(parsed.ok);
    assert.deepEqual([parsed.object.metadata, parsed.object.status], [whole.metadata, whole.status]);
  });

  it('accepts every form of spec.mcp', () => {
    const forms = [
      { configFile: 'conf/mcp.json' },
      {
        tools: [
          { name: 'a', command: 'cat' },
          { name: 'b', command: ['cat', '-n'], args: ['x', 3], prewarm: 2 },
        ],
      },
      { upstream: { stdio: ['npx', 'server'] } },
      { upstream: { port: 7001, path: '/mcp' } },
      {
        upstream: {
          url: 'https://x.example/mcp',
          headersFrom: [{ name: 'X-Key', secretKeyRef: { name: 's', key: 'k' } }],
        },
      },
    ];
    for (const mcp of forms) assert.deepEqual(validateAgent(agent({ mcp })), [], JSON.stringify(mcp));
  });

  it('accepts a Route and a Task', () => {
    const route = {
      agents: [{ name: 'a' }],
      hosts: ['*.example.com'],
      paths: ['/team'],
      static: { root: 'a' },
    };
    assert.deepEqual(validateRoute(object('Route', route)), []);
    const input = { a: [1, { b: null }] };
    const task = { agentRef: { name: 'a' }, tool: 'echo', input, schedule: { cron: '*/5 * * * *' } };
    assert.deepEqual(validateTask(object('Task', task)), []);
  });
});
