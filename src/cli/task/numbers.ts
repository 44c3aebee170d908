import { InvalidArgumentError } from 'commander';

/** Whole seconds, at least 1. */
export function parseSeconds(text: string): number {
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of seconds, at least 1.');
}

export function parseCount(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
