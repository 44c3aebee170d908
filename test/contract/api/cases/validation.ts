import assert from 'node:assert/strict';
import { customResourceDefinitions } from '#api/crd.ts';
import { type Case, expectFailure } from '../suite.ts';

interface Typed {
  readonly type?: string;
  readonly 'x-kubernetes-int-or-string'?: boolean;
}

/** A value that a field of this type cannot have. */
const wrongFor = (schema: Typed) => (schema.type === 'string' ? 5 : schema.type === 'array' ? {} : 'wrong');

/** For every field of the specs of our kinds: a value of another type is refused by an error that names the field. */
export const validationCases: Case[] = customResourceDefinitions().flatMap(({ spec }) => {
  const [version] = spec.versions;
  const schema = version?.schema.openAPIV3Schema as unknown as {
    properties: { spec: { properties: Record<string, Typed> } };
  };
  return Object.entries(schema.properties.spec.properties)
    .filter(([, field]) => field.type !== undefined)
    .map(([name, field]) => ({
      name: `a wrong ${spec.names.kind} spec.${name} is refused by name`,
      async run({ client }) {
        const path = `/apis/${spec.group}/${version?.name}/namespaces/default/${spec.names.plural}`;
        const body = {
          apiVersion: `${spec.group}/${version?.name}`,
          kind: spec.names.kind,
          metadata: { name: 'wrong' },
          spec: { [name]: wrongFor(field) },
        };
        const answer = expectFailure(await client.send('POST', path, { body }), 422, 'Invalid');
        const cause = answer.body.details.causes.find(
          (one: { field: string }) => one.field === `spec.${name}`,
        );
        assert.match(cause?.message ?? answer.text, new RegExp(`must be of type ${field.type}`));
        assert.match(answer.body.message, new RegExp(`spec\\.${name}: Invalid value`));
      },
    }));
});
