import type { CodedError } from '#kit/errors.ts';
import { ApiError, TransportError } from '#kube/errors.ts';
import type { Cluster } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';

/** The same error in words of a cluster: which one could not be reached, what is not installed, who may not. */
export function explainClusterError(error: unknown, { context, server }: Cluster): unknown {
  if (error instanceof TransportError && error.code === 'ConnectFailed') {
    return new CliError(
      exitCodes.notRunning,
      `the cluster of context "${context}" at ${server} does not answer: ${error.message}`,
      'Check that `kubectl` reaches it with the same kubeconfig and context.',
    );
  }
  if (!(error instanceof ApiError)) return error;
  // An object that is missing is named; a kind that is missing is not.
  if (error.status === 404 && error.details?.name === undefined) {
    return new CliError(
      exitCodes.notRunning,
      `Ploinky is not installed in the cluster of context "${context}": it knows no Agents, Routes and Tasks`,
      `Install it: ploinky install --context ${context}`,
    );
  }
  if (error.status === 401) {
    return new CliError(
      exitCodes.refused,
      `the cluster of context "${context}" does not know who asks: ${error.message}`,
      'Log in again: the credentials in the kubeconfig are wrong or too old.',
    );
  }
  if (error.status === 403) {
    return new CliError(
      exitCodes.refused,
      error.message,
      `\`ploinky doctor --context ${context}\` tells which rights are missing; ask the cluster's administrator for them.`,
    );
  }
  return error;
}

export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

/** Answers `fallback` where the caller lacks the right to look. */
export function orForbidden<T>(promise: Promise<T>, fallback: T): Promise<T> {
  return promise.catch((error: unknown) => {
    if (isForbidden(error)) return fallback;
    throw error;
  });
}

export function notInstalled(cluster: Cluster): CodedError {
  return new CliError(
    exitCodes.notRunning,
    `no router of Ploinky is in the cluster of context "${cluster.context}"`,
    `Install it with \`ploinky install --context ${cluster.context}\`, or name its namespace with --home-namespace or its URL with --router.`,
  );
}
