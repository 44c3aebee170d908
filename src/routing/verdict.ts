/** What was found of one side of a Route, in the words of a condition. */
export interface Verdict {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

export function areSameVerdicts(left: Verdict, right: Verdict): boolean {
  return left === right || (left.reason === right.reason && left.message === right.message);
}
