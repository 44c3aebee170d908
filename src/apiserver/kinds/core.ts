import { configMapKind } from './config-map.ts';
import { eventKind, newEventKind } from './event.ts';
import type { Kind } from './kind.ts';
import { leaseKind } from './lease.ts';
import { namespaceKind } from './namespace.ts';
import { secretKind } from './secret.ts';

/** The built-in kinds that our own kinds reference. */
export const coreKinds: readonly Kind[] = [
  configMapKind,
  eventKind,
  namespaceKind,
  secretKind,
  newEventKind,
  leaseKind,
];
