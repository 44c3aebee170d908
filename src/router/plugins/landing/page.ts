import type { Access } from '#routing/access.ts';
import { surfacesAt } from '#routing/resolve.ts';
import type { AgentsSurface, McpSurface } from '#routing/surface.ts';
import type { RoutingTable } from '#routing/table.ts';
import { asksWho } from '../../auth/admitted.ts';

/** Where the browser found the router. */
export interface Asked {
  /** In lower case without port. */
  readonly host: string;
  readonly origin: string;
}

/**
 * A page of plain HTML: no scripts, no requests. Shows what appears at the host that was asked; what others have is
 * not everybody's business, nor what asks who comes.
 */
export function landingPage(table: RoutingTable, { host, origin }: Asked, version: string): string {
  const surfaces = surfacesAt(table, host);
  const home = surfaces.find((surface) => surface.kind === 'agents');
  const aggregates = surfaces.filter((surface) => surface.kind === 'mcp').filter(isOpen);
  const notes = surfaces.some(({ source }) => source === 'defaults') ? table.notes : [];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Ploinky</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Ploinky</h1>
<p>This is a Ploinky router, version ${escapeHtml(version)}. It speaks MCP; give one of these addresses to an MCP client.</p>
${home === undefined ? '' : agentsSection(table, home, origin)}
${aggregatesSection(table, aggregates, origin)}
${notes.map((note) => `<p class="note">${escapeHtml(note)}</p>`).join('\n')}
<p class="links"><a href="/health">Health</a> <a href="/metrics">Metrics</a> <a href="/MCPBrowserClient.js">Browser client</a></p>
</main>
</body>
</html>
`;
}

function agentsSection({ targets: all }: RoutingTable, home: AgentsSurface, origin: string): string {
  const targets = home.agents
    .flatMap((name) => all.get(`${home.namespace}/${name}`) ?? [])
    .filter((target) => isOpen(home) && isOpen(target));
  if (targets.length === 0) {
    return '<h2>Agents</h2>\n<p>None that everybody may see. Make one with <code>ploinky apply -f agent.yaml</code>.</p>';
  }
  const rows = targets.map((target) => {
    const state = target.unavailable === undefined ? 'Ready' : target.unavailable.reason;
    const mark = target.unavailable === undefined ? 'ready' : 'waiting';
    return `<tr><td>${escapeHtml(target.name)}</td><td><span class="${mark}">${escapeHtml(state)}</span></td><td><code>${escapeHtml(origin + pathBelow(home.place.path))}/${escapeHtml(target.name)}/mcp</code></td></tr>`;
  });
  return `<h2>Agents</h2>
<table>
<thead><tr><th>Name</th><th>State</th><th>Its own MCP endpoint</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`;
}

function isOpen({ access }: { readonly access?: Access }): boolean {
  return access === undefined || !asksWho(access);
}

function pathBelow(path: string): string {
  return path === '/' ? '' : path;
}

function aggregatesSection(
  { targets }: RoutingTable,
  surfaces: readonly McpSurface[],
  origin: string,
): string {
  const rows = surfaces.flatMap(({ place, namespace, agents }) => {
    const open = agents.filter((name) => isOpen(targets.get(`${namespace}/${name}`) ?? {}));
    if (open.length === 0 && agents.length > 0) return [];
    const count = open.length === 1 ? '1 agent' : `${open.length} agents`;
    return `<tr><td><code>${escapeHtml(origin)}${escapeHtml(place.path)}</code></td><td>${count}</td></tr>`;
  });
  if (rows.length === 0) return '';
  return `<h2>All together</h2>
<table>
<thead><tr><th>Endpoint</th><th>Behind it</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`;
}

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; }
main { max-width: 46rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto; }
th, td { text-align: left; white-space: nowrap; padding: .4rem 1rem .4rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent); }
th { font-weight: 600; font-size: .85rem; }
tr > :last-child { width: 100%; }
tr > :first-child { white-space: nowrap; }
code { font: .9em ui-monospace, monospace; white-space: nowrap; }
.ready { color: light-dark(#166534, #86efac); }
.waiting { color: light-dark(#92400e, #fcd34d); white-space: nowrap; }
.note { border-left: 3px solid currentColor; padding-left: .75rem; }
.links { margin-top: 2rem; display: flex; gap: 1.25rem; font-size: .9rem; }
`;

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
