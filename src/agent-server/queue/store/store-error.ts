import { CodedError } from '#kit/errors.ts';

export type StoreErrorCode =
  /** The file, or what is in it, is damaged. */
  | 'QueueDamaged'
  /** It was written by a later program. */
  | 'SchemaTooNew'
  /** Another process has it open. */
  | 'QueueInUse'
  /** Nothing could be written: the disk is full or fails. Nothing of the operation was kept. */
  | 'QueueUnavailable';

export class StoreError extends CodedError {
  declare readonly code: StoreErrorCode;

  constructor(
    code: StoreErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly remedy?: string } = {},
  ) {
    super(code, message, options);
    this.name = 'StoreError';
  }
}
