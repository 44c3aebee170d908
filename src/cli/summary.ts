import type { AgentLine } from './agent-progress.ts';
import type { Cli, StartedWorkspace, Workspace } from './context.ts';
import { harmless } from './terminal.ts';

/** What to do next, once a workspace is up. */
export function printSummary(
  { terminal }: Cli,
  workspace: Workspace,
  started: StartedWorkspace,
  agents: readonly AgentLine[],
): void {
  const ready = agents.filter(({ summary }) => summary.stage === 'Ready');
  const link = (path: string) => terminal.style('cyan', `${started.url}${path}`);
  const shown = ready.slice(0, 10);
  const width = Math.max(9, ...shown.map(({ name }) => name.length + 2));
  const row = (name: string, value: string) => terminal.print(`${name.padEnd(width)}   ${value}`);
  row(
    'Agents',
    agents.length === 0 ? 'none yet: ploinky apply -f FILE' : `${ready.length} of ${agents.length} ready`,
  );
  row('All tools', link('/mcp'));
  for (const { name } of shown) row(`  ${name}`, link(`/mcps/${name}/mcp`));
  if (ready.length > shown.length) row('', `… and ${ready.length - shown.length} more`);
  for (const warning of new Set(agents.flatMap(({ summary }) => summary.warning ?? []))) {
    terminal.note(`${terminal.styleNote('yellow', 'warning:')} ${harmless(warning)}`);
  }
  row('kubectl', `kubectl --kubeconfig ${quote(workspace.kubeconfig)} get agents`);
}

/** A path as a shell takes it. */
function quote(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
