/** What leads to the tools of one namespace. */
export interface Router {
  /** Scheme, host, port and perhaps a path; no slash at the end. */
  readonly url: string;
  /** The Host to ask for, when it is not the URL's. */
  readonly host?: string | undefined;
  /** An API key, for agents that ask who calls; never shown. */
  readonly key?: string | undefined;
  /** Where all tools are. Undefined: as without any Route, `/mcp` for all and `/mcps/<agent>/mcp` for one. */
  readonly path?: string | undefined;
  /** It leads to a pod only while this program runs. */
  readonly isForwarded?: true;
  /** The URL of now, where it may have changed since. */
  relocate?(): Promise<string | undefined>;
  /** Why the last connection failed, where that is known better than the connection itself tells. */
  trouble?(): string | undefined;
}
