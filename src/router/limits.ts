/** Every bound of the router. Times in milliseconds. */
export interface RouterLimits {
  /** Body of a JSON request; `/apis` streams and has no bound here. */
  readonly bodyBytes: number;
  /** Nesting of a JSON body, and of what agents list. */
  readonly jsonDepth: number;
  /** Members of objects and items of lists in a JSON body, all together. */
  readonly jsonMembers: number;
  /** Messages in one JSON-RPC batch. */
  readonly batch: number;
  /** Request line and headers of a request. */
  readonly headerBytes: number;
  /** A client has this long to send its headers. */
  readonly headersTimeoutMs: number;
  /** … and this long for the whole body of a JSON request. */
  readonly bodyTimeoutMs: number;
  /** … and this long for any request with a streamed body but files of agents. */
  readonly requestTimeoutMs: number;
  /** An idle kept-alive client connection is closed after this long. */
  readonly keepAliveTimeoutMs: number;
  /** Client connections at once. */
  readonly connections: number;
  /** Connections to one agent-server at once; more calls wait. */
  readonly connectionsPerAgent: number;
  /** Files of one agent that are on their way in or out at once; more are told to come again. */
  readonly blobTransfersPerAgent: number;
  /** To connect to an agent-server, proof included. */
  readonly connectTimeoutMs: number;
  /** How long a call waits for an agent that is starting. */
  readonly readyWaitMs: number;
  /** A call on an instance that exists no more is given up after this long. */
  readonly goneMs: number;
  /** A call that shows no sign of life for this long has failed. */
  readonly callTimeoutMs: number;
  /** One agent's list, however long a request for it waits. */
  readonly listTimeoutMs: number;
  /** How long a list of several agents waits for one of them, where the Route does not say. */
  readonly backendDeadlineMs: number;
  /** How long one agent is waited for that is asked for its queue. */
  readonly queueDeadlineMs: number;
  /** … after which it may be asked again, … */
  readonly queueMaxAgeMs: number;
  /** … how many are asked at once, … */
  readonly queueAsks: number;
  /** … and how many for one answer. */
  readonly queueAgents: number;
  /** How long `initialize` and `server/discover` wait to hear what agents say of themselves. */
  readonly aboutWaitMs: number;
  /** Characters of one agent's instructions that are told to clients of several agents. */
  readonly instructionsChars: number;
  /** … and of all of them together, with the router's own. */
  readonly mergedInstructionsChars: number;
  /** A cached list is asked for again after this long even when nothing said that it changed. */
  readonly listMaxAgeMs: number;
  /** Agents that are asked at once for lists that changed, before the next client wants them. 0: none. */
  readonly listsAhead: number;
  /** Items of one list of one agent. */
  readonly listItems: number;
  /** … pages of it, … */
  readonly listPages: number;
  /** … characters of one name or URI in it, … */
  readonly nameChars: number;
  /** … and bytes of it, all pages together. */
  readonly listBytes: number;
  /** An answer that the router has to hold as a whole. */
  readonly answerBytes: number;
  /** Nesting of an agent's answer or event that the router has to look into. */
  readonly answerDepth: number;
  /** Characters of an event that it has to look into. */
  readonly eventChars: number;
  /** Interim answers (1xx) to one call. */
  readonly interimAnswers: number;
  /** Tools that find_tool returns when the client does not say how many. */
  readonly foundTools: number;
  /** … and when it does, at most. */
  readonly foundToolsMost: number;
  /** How long a session id stays good. */
  readonly sessionTtlMs: number;
  /** Another router has this long to confirm that a session ended; a DELETE waits for that. */
  readonly peerTimeoutMs: number;
  /** … and this long to say which sessions have ended, which a router that starts asks before it is ready. */
  readonly peerListTimeoutMs: number;
  /** Ended sessions that it says at most, the last ones. */
  readonly peerList: number;
  /** What a client of an event stream may leave unread before it is cut off. */
  readonly unreadStreamBytes: number;
  /** A client that takes nothing of an agent's answer for this long is cut off. */
  readonly unreadMs: number;
  /** … and one that takes nothing of what was written for it, be it the router's own answer, for this long. */
  readonly unreadAnswerMs: number;
  /** Event streams that the router itself feeds, at once. */
  readonly eventStreams: number;
  /** URIs of one `subscriptions/listen`. */
  readonly listenUris: number;
  /** Agents whose streams the router opens for one client. */
  readonly agentStreamsPerClient: number;
  /** Streams that the router opens at one agent for clients of several: each takes a connection. */
  readonly agentStreams: number;
  /** Such a stream without any sign of life for this long is opened again. */
  readonly agentStreamSilenceMs: number;
  /** Between two signs of life on an event stream. */
  readonly streamKeepAliveMs: number;
  /**
   * After a shutdown began, the router says that it is not ready and serves on for this long, so that whoever
   * sends requests here has heard of it. 0 where nobody asks.
   */
  readonly lameDuckMs: number;
  /** After that, running calls get this long. */
  readonly drainMs: number;
}

export const defaultLimits: RouterLimits = {
  // As MCP's own SDK: a request costs several times its size in memory until it is answered.
  bodyBytes: 4 * 1024 * 1024,
  jsonDepth: 64,
  jsonMembers: 100_000,
  batch: 50,
  headerBytes: 32 * 1024,
  headersTimeoutMs: 5_000,
  bodyTimeoutMs: 15_000,
  requestTimeoutMs: 300_000,
  keepAliveTimeoutMs: 65_000,
  connections: 10_000,
  connectionsPerAgent: 256,
  blobTransfersPerAgent: 64,
  connectTimeoutMs: 5_000,
  readyWaitMs: 5_000,
  goneMs: 60_000,
  callTimeoutMs: 600_000,
  listTimeoutMs: 10_000,
  backendDeadlineMs: 5_000,
  queueDeadlineMs: 2_000,
  queueMaxAgeMs: 500,
  queueAsks: 32,
  queueAgents: 500,
  aboutWaitMs: 1_000,
  instructionsChars: 2_000,
  mergedInstructionsChars: 16_000,
  listMaxAgeMs: 300_000,
  listsAhead: 8,
  listItems: 10_000,
  listPages: 100,
  nameChars: 4_096,
  listBytes: 16 * 1024 * 1024,
  answerBytes: 64 * 1024 * 1024,
  answerDepth: 256,
  eventChars: 16 * 1024 * 1024,
  interimAnswers: 32,
  foundTools: 5,
  foundToolsMost: 25,
  sessionTtlMs: 24 * 3_600_000,
  peerTimeoutMs: 1_000,
  peerListTimeoutMs: 3_000,
  peerList: 20_000,
  unreadStreamBytes: 256 * 1024,
  unreadMs: 30_000,
  unreadAnswerMs: 120_000,
  eventStreams: 1_000,
  listenUris: 1_000,
  agentStreamsPerClient: 32,
  agentStreams: 128,
  agentStreamSilenceMs: 60_000,
  streamKeepAliveMs: 15_000,
  lameDuckMs: 0,
  drainMs: 10_000,
};
