import { badRequest } from '../api-error.ts';
import { invalid, notSupported } from '../field-error.ts';
import type { WriteOptions } from '../verbs/target.ts';
import type { Exchange } from './exchange.ts';

const optionsKinds: Readonly<Record<string, string>> = {
  POST: 'CreateOptions',
  PUT: 'UpdateOptions',
  PATCH: 'PatchOptions',
};

/** Reads the query parameters that every write takes. Throws 400 or 422. */
export function readWriteOptions(exchange: Exchange): WriteOptions {
  const { query, method } = exchange;
  const kind = optionsKinds[method] ?? 'PatchOptions';
  const name = { group: 'meta.k8s.io', plural: '', kind };
  const dryRun = query.getAll('dryRun').filter((one) => one !== '');
  if (dryRun.some((one) => one !== 'All')) throw invalid(name, '', [notSupported('dryRun', dryRun, ['All'])]);
  const fieldValidation = query.get('fieldValidation') || 'Warn';
  if (fieldValidation !== 'Strict' && fieldValidation !== 'Warn' && fieldValidation !== 'Ignore')
    throw invalid(name, '', [
      notSupported('fieldValidation', fieldValidation, ['', 'Ignore', 'Strict', 'Warn']),
    ]);
  const fieldManager = query.get('fieldManager') ?? '';
  if (fieldManager.length > 128) throw badRequest('fieldManager may not be longer than 128 characters');
  const apply = exchange.contentType === 'application/apply-patch+yaml';
  return {
    dryRun: dryRun.length > 0,
    fieldManager: fieldManager !== '' || apply ? fieldManager : managerOf(exchange.header('user-agent')),
    fieldValidation,
    force: /^(true|1|t)$/i.test(query.get('force') ?? ''),
    duplicates: [],
    warn: (text) => exchange.warn(text),
  };
}

/** Without a fieldManager parameter, the client's program name is the manager. */
function managerOf(userAgent: string): string {
  return (userAgent.split('/')[0] ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, 128) || 'unknown';
}
