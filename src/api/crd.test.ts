import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { customResourceDefinitions } from './crd.ts';
import { type Kind, kinds } from './kinds.ts';
import { editorSchema } from './schema/editor-schema.ts';
import { childrenOf, type JsonSchema } from './schema/json-schema.ts';
import { validSpec } from './testing/arbitrary.ts';
import { mismatches } from './testing/schema-check.ts';
import { refusedPath, wrongObjects } from './testing/wrong-objects.ts';

const runs = 100;
const bases = {
  Agent: {},
  Route: { agents: [{ name: 'a' }], mcp: { naming: 'Always' } },
  Task: { agentRef: { name: 'a' }, title: 't' },
};

const crds = customResourceDefinitions();

function crdSchema(kind: Kind): JsonSchema {
  const found = crds.find((crd) => crd.spec.names.kind === kind.resource.kind)?.spec.versions[0];
  assert.ok(found);
  return found.schema.openAPIV3Schema;
}

/** Every schema below one, with its path. */
function everySchema(schema: JsonSchema, path: string): (readonly [string, JsonSchema])[] {
  return [
    [path, schema] as const,
    ...childrenOf(schema).flatMap(([name, child]) => everySchema(child, `${path}.${name}`)),
  ];
}

const fields = Object.values(kinds).flatMap((kind) => {
  const { spec, status } = crdSchema(kind).properties ?? {};
  assert.ok(spec && status);
  return [
    ...everySchema(spec, `${kind.resource.kind}.spec`),
    ...everySchema(status, `${kind.resource.kind}.status`),
  ];
});

for (const name of ['Agent', 'Route', 'Task'] as const) {
  const kind = kinds[name];
  const specs = validSpec(kind, bases[name]);

  describe(`${kind.resource.kind}: any spec that parses`, () => {
    it('parses to the same again once its defaults are filled in', { timeout: 60_000 }, () => {
      fc.assert(
        fc.property(specs, (spec) => {
          const once = kind.spec.parse(spec);
          assert.deepEqual(kind.spec.parse(once), once);
        }),
        { numRuns: runs },
      );
    });

    it('is accepted by the CRD and by the editors’ schema, as written and with its defaults', {
      timeout: 60_000,
    }, () => {
      const { spec: structural = {} } = crdSchema(kind).properties ?? {};
      const { spec: editor = {} } = editorSchema(kind).properties ?? {};
      fc.assert(
        fc.property(specs, (spec) => {
          const full = JSON.parse(JSON.stringify(kind.spec.parse(spec)));
          for (const value of [spec, full]) {
            assert.deepEqual(mismatches(structural, value), []);
            assert.deepEqual(mismatches(editor, value), []);
          }
        }),
        { numRuns: runs },
      );
    });
  });
}

it('draws nearly every field somewhere, so that the properties above say something', {
  timeout: 60_000,
}, () => {
  const drawn = new Set<string>();
  for (const spec of fc.sample(validSpec(kinds.Agent, {}), { numRuns: 500, seed: 1 })) {
    for (const name of Object.keys(Object(spec))) drawn.add(name);
  }
  const known = Object.keys(crdSchema(kinds.Agent).properties?.['spec']?.properties ?? {});
  assert.deepEqual(
    known.filter((name) => !drawn.has(name)),
    [],
  );
});

describe('Every field of every CRD', () => {
  it('has an upper bound: text, lists and maps', () => {
    const unbounded = fields.filter(([, schema]) => {
      if (schema['x-kubernetes-int-or-string']) return schema.maxLength === undefined;
      if (schema.type === undefined) return schema.maxLength === undefined || schema.maxItems === undefined;
      if (schema.type === 'string') return schema.maxLength === undefined && schema.enum === undefined;
      if (schema.type === 'array') return schema.maxItems === undefined;
      const isMap =
        schema.additionalProperties !== undefined || schema['x-kubernetes-preserve-unknown-fields'];
      return schema.type === 'object' && isMap && schema.maxProperties === undefined;
    });
    assert.deepEqual(
      unbounded.map(([path]) => path),
      [],
    );
  });

  it('has a lower and an upper bound: numbers', () => {
    const numbers = fields.filter(([, { type }]) => type === 'integer' || type === 'number');
    const unbounded = numbers.filter(
      ([, { minimum, maximum }]) => minimum === undefined || maximum === undefined,
    );
    assert.ok(numbers.length > 50);
    assert.deepEqual(
      unbounded.map(([path]) => path),
      [],
    );
  });

  it('says what it means', () => {
    const silent = fields.filter(([path, { description }]) => !/(\[\]|\*)$/.test(path) && !description);
    assert.deepEqual(
      silent.map(([path]) => path),
      [],
    );
  });

  it('says how its list is merged', () => {
    const lists = fields.filter(([, { type }]) => type === 'array');
    const silent = lists.filter(([, schema]) => schema['x-kubernetes-list-type'] === undefined);
    assert.deepEqual(
      silent.map(([path]) => path),
      [],
    );
  });

  it('has a name and values that YAML 1.1 reads as text', () => {
    const trap = /^(y|n|yes|no|on|off|true|false|null|~)$/i;
    const names = fields.map(([path]) => path.split('.').at(-1) ?? '');
    const values = fields
      .filter(([path]) => !path.endsWith('.conditions.[].status'))
      .flatMap(([, schema]) => schema.enum ?? [])
      .map(String);
    assert.deepEqual(
      [...names, ...values].filter((word) => trap.test(word)),
      [],
    );
  });

  it('has a pattern that Go’s regular expressions know: no look-around, no back reference', () => {
    const patterns = fields.flatMap(([, { pattern }]) => pattern ?? []);
    assert.ok(patterns.length > 20);
    assert.deepEqual(
      patterns.filter((pattern) => /\(\?[=!<]|\\[1-9]/.test(pattern)),
      [],
    );
  });

  it('has only members that a structural schema may have', () => {
    const foreign = fields.filter(([, schema]) =>
      Object.keys(schema).some((name) =>
        /^(anyOf|allOf|oneOf|not|const|propertyNames|\$|x-ploinky)/.test(name),
      ),
    );
    assert.deepEqual(
      foreign.map(([path]) => path),
      [],
    );
  });
});

it('the CRDs carry the names, columns and subresources that people rely on', () => {
  const shape = crds.map(({ metadata, spec }) => ({
    name: metadata.name,
    short: spec.names.shortNames,
    categories: spec.names.categories,
    columns: spec.versions[0]?.additionalPrinterColumns
      .filter(({ priority }) => !priority)
      .map(({ name }) => name),
    subresources: Object.keys(spec.versions[0]?.subresources ?? {}),
  }));
  assert.deepEqual(shape, [
    {
      name: 'agents.ploinky.dev',
      short: ['ag'],
      categories: ['ploinky'],
      columns: ['Ready', 'Runtime', 'Replicas', 'Tools', 'Age'],
      subresources: ['status', 'scale'],
    },
    {
      name: 'routes.ploinky.dev',
      short: ['rt'],
      categories: ['ploinky'],
      columns: ['Accepted', 'Programmed', 'Hosts', 'Paths', 'Age'],
      subresources: ['status'],
    },
    {
      name: 'tasks.ploinky.dev',
      short: ['tk'],
      categories: ['ploinky'],
      columns: ['Agent', 'Tool', 'Phase', 'Attempts', 'Age'],
      subresources: ['status'],
    },
  ]);
});

describe('A wrong object is refused by the CRD itself where a CRD can say it', () => {
  for (const wrong of wrongObjects.filter(({ onlyParsing }) => !onlyParsing)) {
    const { spec = {} } = crdSchema(kinds[wrong.kind]).properties ?? {};
    const found = mismatches(spec, JSON.parse(JSON.stringify(wrong.spec ?? {})), 'spec');
    const uniqueness = /another item|listed twice/.test(wrong.error);
    // An object without a spec has nothing to hold against a schema of specs.
    if (wrong.spec === undefined) continue;
    it(`${wrong.kind}: ${wrong.error.slice(0, 90)}`, () => {
      if (found.length > 0)
        assert.ok(
          found.some((line) => line.startsWith(refusedPath(wrong))),
          found.join(),
        );
      else
        assert.ok(
          uniqueness || hasRuleAbove(spec, refusedPath(wrong)),
          'neither the schema nor a rule refuses it',
        );
    });
  }
});

/** Whether the schema at a path, or one that holds it, has CEL rules. */
function hasRuleAbove(schema: JsonSchema, path: string): boolean {
  const steps = path
    .replaceAll(/\[\d+\]/g, '.[]')
    .split('.')
    .slice(1);
  let current: JsonSchema | undefined = schema;
  let last = schema['x-kubernetes-validations'] !== undefined;
  for (const step of steps) {
    current = current === undefined ? undefined : new Map(childrenOf(current)).get(step);
    last ||= current?.['x-kubernetes-validations'] !== undefined;
  }
  return last;
}
