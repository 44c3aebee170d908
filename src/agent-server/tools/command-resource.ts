import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { ResourceDefinition } from '../config/mcp-config.ts';
import type { CallContext } from '../source.ts';
import { type CommandHost, type CommandTemplate, defineCommand } from './command-host.ts';
import { resourceEnvelope } from './envelope.ts';
import { failureMessage, runCommand } from './run-command.ts';
import { compileUriTemplate, type UriTemplate } from './uri-template.ts';

/** A resource of the configuration, ready to be read. */
export interface CommandResource {
  readonly definition: ResourceDefinition;
  readonly template: CommandTemplate;
  /** Undefined for a static resource. */
  readonly pattern: UriTemplate | undefined;
}

export function createCommandResource(definition: ResourceDefinition, host: CommandHost): CommandResource {
  return {
    definition,
    template: defineCommand(definition, host, 0),
    pattern: definition.template === undefined ? undefined : compileUriTemplate(definition.template),
  };
}

export interface ResourceMatch {
  readonly resource: CommandResource;
  readonly params: Record<string, string> | undefined;
}

/** Static resources first, then templates in the order of the configuration. */
export function findResource(resources: readonly CommandResource[], uri: string): ResourceMatch | undefined {
  const exact = resources.find((resource) => resource.definition.uri === uri);
  if (exact !== undefined) return { resource: exact, params: undefined };
  for (const resource of resources) {
    const params = resource.pattern?.match(uri);
    if (params !== undefined) return { resource, params };
  }
  return undefined;
}

/** Runs the resource's command; throws RpcError `internal` when it fails (Ploinky contract, §3). */
export async function readResource(
  { resource, params }: ResourceMatch,
  uri: string,
  call: CallContext,
  host: CommandHost,
): Promise<Result> {
  const { definition, template } = resource;
  const timeoutMs = definition.timeoutMs ?? host.settings.toolTimeoutMs;
  const outcome = await runCommand({
    spawner: host.spawner,
    clock: host.clock,
    template: template.id(),
    stdin: resourceEnvelope(definition.name, uri, params),
    timeoutMs,
    signal: call.signal,
  });
  template.observe(outcome);
  const failure = failureMessage(outcome, { timeoutMs, maxOutputBytes: host.settings.maxOutputBytes });
  if (failure !== undefined || outcome.type !== 'exited') {
    throw new RpcError(errorCodes.internal, failure ?? 'failed');
  }
  const mimeType = definition.mimeType ?? 'text/plain';
  return { contents: [{ uri, mimeType, text: outcome.stdout.toString('utf8') }] };
}
