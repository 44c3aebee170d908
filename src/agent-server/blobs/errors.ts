import { CodedError } from '#kit/errors.ts';

export type BlobProblem =
  | 'TooLarge'
  | 'QuotaExceeded'
  | 'TooManyBlobs'
  | 'DiskFull'
  | 'Broken'
  | 'DigestMismatch'
  | 'Busy'
  | 'StoreFailed';

/** Why a blob was not taken, or cannot be given. */
export class BlobError extends CodedError {
  declare readonly code: BlobProblem;

  constructor(code: BlobProblem, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(code, message, options);
  }
}

/** Of HTTP. */
export const statusOfProblem: Record<BlobProblem, number> = {
  TooLarge: 413,
  QuotaExceeded: 507,
  TooManyBlobs: 507,
  DiskFull: 507,
  Broken: 400,
  DigestMismatch: 400,
  Busy: 503,
  StoreFailed: 502,
};
