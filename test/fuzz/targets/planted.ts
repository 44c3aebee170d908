import type { FuzzTarget } from '../target.ts';

const seeds = ['bytes=0-1', 'bytes=5-'];
const words = ['bytes=', '-', ',', '9'];

/** Ends with an error of its own for one kind of input, three conditions deep. */
function crash(text: string): void {
  const [unit, ranges = ''] = text.split('=');
  if (unit !== 'bytes') return;
  const [first, second, third] = ranges.split(',');
  if (first === undefined || second === undefined || third !== '') return;
  throw new TypeError('planted');
}

/** Takes a time that doubles with each character. */
function hang(text: string): void {
  /^bytes=(?:\d+)+$/.exec(text);
  /^(?:[a-z]+[-=])?(?:(?:\d+)*)*!$/.exec(text);
}

export const plantedTargets: readonly FuzzTarget[] = [
  { name: 'planted-crash', seeds, words, run: (input) => crash(input.toString()) },
  { name: 'planted-hang', seeds, words, run: (input) => hang(input.toString()) },
];
