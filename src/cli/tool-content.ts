import { isObject } from '#kit/json.ts';
import { harmless } from './terminal.ts';

/** A tool's result for people: text as it is; of other content what it is. */
export function contentOf(result: Readonly<Record<string, unknown>>): string {
  const content = Array.isArray(result['content']) ? result['content'].filter(isObject) : [];
  if (content.length > 0) return content.map(describeItem).join('\n');
  const { structuredContent } = result;
  return structuredContent === undefined ? '' : JSON.stringify(structuredContent, null, 2);
}

function describeItem(item: Record<string, unknown>): string {
  if (typeof item['text'] === 'string') return harmless(item['text']);
  const { resource } = item;
  if (isObject(resource) && typeof resource['text'] === 'string') return harmless(resource['text']);
  const address = item['uri'] ?? (isObject(resource) ? resource['uri'] : undefined);
  const size = typeof item['data'] === 'string' ? `, ${item['data'].length} base64 characters` : '';
  const about = [item['mimeType'], address].filter((part) => typeof part === 'string').join(' ');
  return harmless(`[${String(item['type'])} ${about}${size}]`);
}
