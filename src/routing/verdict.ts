/** What was found of one side of a Route, in the words of a condition. */
export interface Verdict {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}
