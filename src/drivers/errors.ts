import { TerminalError } from '#kit/errors.ts';

/** What a driver refuses for good; trying the same workload again cannot help. */
export const driverErrors = {
  /** A mount would lie below a path that the agent can write. */
  UnsafeMount: 'Give the agent a code folder that does not contain its own writable folders.',
  /** The code folder is missing, outside the workspace, or a private part of it. */
  CodeFolder: 'Point spec.code.path at a folder inside the workspace, outside .ploinky.',
  /** The folder is there but the sandbox's user cannot read it. */
  CodeUnreadable: 'Make the folder readable to others: chmod -R o+rX FOLDER.',
  /** A file name of spec.code.inline is not a plain relative path. */
  InlineName: 'Use relative file names without "..", for example lib/tool.mjs.',
  /** A source of code that pods cannot have, or not on this cluster. */
  CodeSource:
    'Use spec.code.git (https), configMap, pvc or inline, or a runtime.image that carries the code.',
  /** spec.code.git.ca leads to something else than certificates. */
  Authority:
    'Put the certificate of the authority there that signs the git server’s, as PEM text: -----BEGIN CERTIFICATE----- and what follows.',
  /** The inline files do not fit into a ConfigMap. */
  CodeTooLarge: 'Put the code into spec.code.git, an image or a claim.',
  /** spec.podTemplate or spec.runtime.resources asks for what a pod of an agent cannot have. */
  PodTemplate:
    'Mend the field that the message names; `kubectl explain agent.spec.podTemplate` lists what there is.',
  /** A program that the driver itself needs is missing. */
  DriverUnavailable: 'Install the missing program; `ploinky doctor` names it.',
} as const;

/** The condition reason (src/api/reasons.ts) that stands for each code, where one does. */
export const reasonOfCode: Readonly<Record<string, string>> = {
  InstallFailed: 'InstallFailed',
  UnsafeMount: 'CodeUnavailable',
  CodeFolder: 'CodeUnavailable',
  CodeUnreadable: 'CodeUnavailable',
  InlineName: 'CodeUnavailable',
  CodeSource: 'CodeUnavailable',
  Authority: 'CodeUnavailable',
  CodeTooLarge: 'CodeUnavailable',
  PodTemplate: 'Invalid',
  DriverUnavailable: 'DriverUnavailable',
};

export type DriverErrorCode = keyof typeof driverErrors;

export function driverError(code: DriverErrorCode, message: string, cause?: unknown): TerminalError {
  return new TerminalError(code, message, {
    remedy: driverErrors[code],
    ...(cause === undefined ? {} : { cause }),
  });
}
