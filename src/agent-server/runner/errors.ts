import { CodedError } from '#kit/errors.ts';

export type PluginErrorCode =
  /** A file of a plugins folder is no plugin, or cannot be registered. */
  | 'InvalidPlugin'
  /** The tool's `command` names no method of a plugin. */
  | 'UnknownCommand'
  /** The plugin's `allow` said no. */
  | 'NotAllowed';

/** Why a call of a tool with `runner: plugins` fails before its method runs. */
export class PluginError extends CodedError {
  declare readonly code: PluginErrorCode;

  constructor(code: PluginErrorCode, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(code, message, options);
  }
}
