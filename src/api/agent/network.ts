import { isIP } from 'node:net';
import { z } from 'zod';
import { hostPattern, listOf, port, setOf } from '../schema/fields.ts';
import { exactlyOne, withRules } from '../schema/rules.ts';

const addressRange =
  /^([0-9.]+\/(3[0-2]|[12]?[0-9])|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$/;

const cidr = z
  .string()
  .min(1)
  .max(64)
  .regex(addressRange, { error: 'must be an address range like 203.0.113.0/24', abort: true })
  .refine(isCidr, 'must be an address range like 203.0.113.0/24');

/** One thing that may be reached. */
const egressRuleSchema = withRules(
  z.strictObject({
    host: hostPattern
      .describe(
        'Host name, exact or with one leading `*.` that stands for one label or more; letter case does not matter.',
      )
      .optional(),
    cidr: cidr
      .describe('Address range. Private and metadata ranges stay closed even when listed.')
      .optional(),
    ports: setOf(port, 32).min(1).describe('Ports. Default: 443.').optional(),
  }),
  [exactlyOne(['host', 'cidr'])],
);

/** Where the install step may go unless the Agent says otherwise: the npm and PyPI registries. */
const defaultInstallEgress = [
  { host: 'registry.npmjs.org' },
  { host: 'pypi.org' },
  { host: 'files.pythonhosted.org' },
];

/** What the agent can reach; nothing by default. All of it goes through the egress proxy. */
export const networkSchema = z.strictObject({
  egress: listOf(egressRuleSchema, 64)
    .describe('What the running agent may reach. Default: nothing.')
    .default([]),
  installEgress: listOf(egressRuleSchema, 64)
    .describe('What lifecycle.install may reach. Default: the hosts of the npm and PyPI registries.')
    .default(defaultInstallEgress),
});

function isCidr(value: string): boolean {
  const [address = '', prefix = ''] = value.split('/');
  const family = isIP(address);
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128);
}
