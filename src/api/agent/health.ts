import { z } from 'zod';
import { commandLine, port, text } from '../schema/fields.ts';
import { exactlyOne, withRules } from '../schema/rules.ts';

const probeSeconds = z.number().min(0.1).max(3600);

const httpSchema = z.strictObject({
  port: port.describe('Port on the agent’s loopback.'),
  path: text(1024).describe('Path that answers 200.').default('/'),
});

const tcpSchema = z.strictObject({ port: port.describe('Port on the agent’s loopback that accepts.') });

/** A probe: a script of the agent, a command, an HTTP path or a TCP port. */
const probeSchema = withRules(
  z.strictObject({
    script: text(255)
      .regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/, 'must be a bare file name below /code')
      .describe('File below /code that exits 0.')
      .optional(),
    exec: commandLine.describe('Program and arguments that exit 0.').optional(),
    http: httpSchema.describe('An HTTP path.').optional(),
    tcp: tcpSchema.describe('A TCP port.').optional(),
    intervalSeconds: probeSeconds.describe('Time between probes.').default(1),
    timeoutSeconds: probeSeconds.describe('Limit of one probe.').default(5),
    failureThreshold: z.int().min(1).max(1000).describe('Failures in a row that count.').default(5),
    successThreshold: z.int().min(1).max(1000).describe('Successes in a row that count.').default(1),
  }),
  [exactlyOne(['script', 'exec', 'http', 'tcp'])],
);

/** Probes of the agent's own program; that agent-server answers is always checked. */
export const healthSchema = z.strictObject({
  liveness: probeSchema.describe('When it fails, the workload is restarted.').optional(),
  readiness: probeSchema.describe('While it fails, no call is sent.').optional(),
  startup: probeSchema.describe('Until it succeeds, the other two wait.').optional(),
  readinessProtocol: z
    .enum(['mcp', 'tcp', 'none'])
    .describe(
      'How the agent’s own server proves that it is up. Default: mcp, or tcp for an agent without MCP server.',
    )
    .optional(),
});
