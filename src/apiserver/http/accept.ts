/** What a client wants a list or an object as. */
export interface Wanted {
  readonly type: 'json' | 'table' | 'partial';
  /** `v1` or `v1beta1` of meta.k8s.io. */
  readonly version: string;
  /** For `partial`: whether the client named the list's form. */
  readonly list?: boolean;
}

/**
 * Reads the Accept header: the first alternative this server can serve wins, as the API server does it.
 * Undefined when there is none (406).
 */
export function negotiate(accept: string): Wanted | undefined {
  if (accept.trim() === '') return { type: 'json', version: 'v1' };
  for (const alternative of accept.split(',')) {
    const [media = '', ...parameters] = alternative.split(';').map((part) => part.trim());
    if (!['application/json', 'application/*', '*/*'].includes(media.toLowerCase())) continue;
    const values = new Map(parameters.map((one) => one.split('=', 2) as [string, string]));
    const as = values.get('as');
    if (as === undefined || as === '') return { type: 'json', version: 'v1' };
    if (values.get('g') !== 'meta.k8s.io') continue;
    const version = values.get('v') ?? '';
    if (version !== 'v1' && version !== 'v1beta1') continue;
    if (as === 'Table') return { type: 'table', version };
    if (as === 'PartialObjectMetadata') return { type: 'partial', version, list: false };
    if (as === 'PartialObjectMetadataList') return { type: 'partial', version, list: true };
  }
  return undefined;
}
