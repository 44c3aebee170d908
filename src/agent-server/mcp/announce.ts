import { notificationOf, type Params } from '#mcp/jsonrpc.ts';
import type { Changes } from '../http/changes.ts';
import type { ListDigests } from './listing.ts';
import type { McpServices } from './services.ts';
import { sendToSession } from './session.ts';

const lists = ['tools', 'resources', 'prompts'] as const;

/** Tells sessions, subscriptions and change streams what changed in the source. Returns the stop function. */
export function announceChanges(services: McpServices, changes: Changes): () => void {
  let known: ListDigests = services.listing().digests;
  return services.source.onChange((change) => {
    if (change.type === 'resource') announceResource(services, change.uri);
    else if (change.type === 'task') announceTask(services, change.session, change.params);
    else {
      const next = services.listing().digests;
      for (const list of lists) if (next[list] !== known[list]) announceList(services, list);
      known = next;
      changes.update();
    }
  });
}

function announceList({ sessions, subscriptions }: McpServices, list: (typeof lists)[number]): void {
  const json = JSON.stringify(notificationOf(`notifications/${list}/list_changed`));
  for (const session of sessions.all()) sendToSession(session, json);
  subscriptions.announce(list);
}

function announceResource({ sessions, subscriptions }: McpServices, uri: string): void {
  const json = JSON.stringify(notificationOf('notifications/resources/updated', { uri }));
  for (const session of sessions.all()) {
    if (session.subscriptions?.has(uri)) sendToSession(session, json);
  }
  subscriptions.announce({ uri });
}

function announceTask({ sessions }: McpServices, id: string, params: Params): void {
  const json = JSON.stringify(notificationOf('notifications/tasks/status', params));
  for (const session of sessions.all()) if (session.id === id) sendToSession(session, json);
}
