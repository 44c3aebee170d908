/** Why a client's file is left alone. */
export class CannotEdit extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CannotEdit';
  }
}
