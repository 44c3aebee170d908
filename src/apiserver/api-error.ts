import { CodedError } from '#kit/errors.ts';

/** metav1.StatusCause: one field that is wrong, and how. */
export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** metav1.Status: the body of every failure and of a few successes. */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, unknown>;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

/** The reasons this server answers with, and the HTTP code of each (metav1.StatusReason). */
const codes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Gone: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  /** 500 without a reason: what the API server says where it did not foresee a client's mistake. */
  Unknown: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;
export type StatusReason = keyof typeof codes;

/** A failure that is answered to the client as a Kubernetes Status. */
export class ApiError extends CodedError {
  readonly httpStatus: number;
  readonly reason: StatusReason;
  readonly details: StatusDetails | undefined;

  constructor(reason: StatusReason, message: string, details?: StatusDetails) {
    super(reason, message);
    this.name = 'ApiError';
    this.reason = reason;
    this.httpStatus = codes[reason];
    this.details = details;
  }

  status(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      ...(this.reason === 'Unknown' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.httpStatus,
    };
  }
}

/** What an error message needs to know of a kind. */
export interface NamedKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** `agents.ploinky.dev`, or `secrets` for the core group. */
function qualifiedPlural(kind: NamedKind): string {
  return kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
}

export function notFound(kind: NamedKind, name: string): ApiError {
  return new ApiError('NotFound', `${qualifiedPlural(kind)} "${name}" not found`, {
    name,
    ...groupDetail(kind),
    kind: kind.plural,
  });
}

export function alreadyExists(kind: NamedKind, name: string, leaving: boolean): ApiError {
  const why = leaving ? 'object is being deleted: ' : '';
  return new ApiError('AlreadyExists', `${why}${qualifiedPlural(kind)} "${name}" already exists`, {
    name,
    ...groupDetail(kind),
    kind: kind.plural,
  });
}

export function conflict(kind: NamedKind, name: string, why: string): ApiError {
  return new ApiError(
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedPlural(kind)} "${name}": ${why}`,
    {
      name,
      ...groupDetail(kind),
      kind: kind.plural,
    },
  );
}

export function staleVersion(kind: NamedKind, name: string): ApiError {
  return conflict(
    kind,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

export function badRequest(message: string): ApiError {
  return new ApiError('BadRequest', message);
}

export function forbidden(kind: NamedKind, name: string, why: string, causes?: StatusCause[]): ApiError {
  return new ApiError('Forbidden', `${qualifiedPlural(kind)} "${name}" is forbidden: ${why}`, {
    name,
    ...groupDetail(kind),
    kind: kind.plural,
    ...(causes === undefined ? {} : { causes }),
  });
}

function groupDetail(kind: NamedKind): { group?: string } {
  return kind.group === '' ? {} : { group: kind.group };
}

export function methodNotAllowed(): ApiError {
  return new ApiError(
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );
}
