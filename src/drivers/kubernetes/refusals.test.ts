import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorFromStatus, TransportError } from '#kube/errors.ts';
import { driverError } from '../errors.ts';
import { refusalOf } from './refusals.ts';

const api = (status: number, message: string, details?: object) =>
  errorFromStatus(status, { kind: 'Status', message, details });

const table: Record<string, [error: unknown, reason: string | undefined, says?: RegExp]> = {
  'a quota': [api(403, 'pods "x" is forbidden: exceeded quota: small'), 'QuotaExceeded', /small/],
  'a limit range': [
    api(403, 'pods "x" is forbidden: maximum memory usage per Container is 1Gi'),
    'QuotaExceeded',
  ],
  'Pod Security': [api(403, 'pods "x" is forbidden: violates PodSecurity "restricted"'), 'AdmissionRefused'],
  'a webhook': [api(400, 'admission webhook "policy.test" denied the request: no'), 'AdmissionRefused'],
  'a webhook that is down': [
    api(500, 'Internal error occurred: failed calling webhook "policy.test"'),
    'AdmissionRefused',
  ],
  'an invalid pod': [api(422, 'Pod "x" is invalid: spec.affinity'), 'AdmissionRefused', /affinity/],
  'a missing right': [
    api(403, 'secrets is forbidden: User "u" cannot create resource "secrets" in API group ""'),
    'Forbidden',
    /RoleBinding rights in namespace team/,
  ],
  'a field of the author': [
    driverError('PodTemplate', 'spec.podTemplate.spec.volumes: the name "ploinky-x" is reserved.'),
    'Invalid',
    /spec\.podTemplate/,
  ],
  'nothing, while the namespace ends': [
    api(403, 'forbidden: being terminated', { causes: [{ reason: 'NamespaceTerminating' }] }),
    undefined,
  ],
  'nothing, when the API is down': [new TransportError('ConnectFailed', 'x'), undefined],
  'nothing, for an error of this program': [new Error('x'), undefined],
};

describe('what a refusal means', () => {
  for (const [name, [error, reason, says]] of Object.entries(table)) {
    it(`is ${name}`, () => {
      const fault = refusalOf(error, 'team', 'rights');
      assert.equal(fault?.reason, reason);
      if (says !== undefined) assert.match(fault?.message ?? '', says);
    });
  }
});
