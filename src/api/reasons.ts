/**
 * Every reason that a condition can have, with what it means and what to do about it.
 * Grouped by what they are about; one reason may appear under several condition types.
 */

/** About the spec as a whole, at Accepted. */
export const acceptedReasons = {
  Accepted: 'The spec is accepted. Nothing to do.',
  Invalid: 'A field has a value that cannot be carried out. Mend the field that the message names.',
  NotImplemented:
    'A field is known but this version does nothing with it. Remove the field that the message names, or use a version that implements it.',
  NotSupported:
    'The runtime that the Agent runs on cannot do what a field asks for. Use one of the alternatives that the message names, or another runtime.class.',
  Conflict:
    'Another object asked for the same host and path earlier. Choose another host or path, or delete the other one.',
  HostNotAllowed:
    'The router’s configuration does not let this namespace use the host. Choose another host, or ask the administrator.',
} as const;

/** About an Agent, at Ready, Progressing, Degraded and Halted. */
export const agentReasons = {
  Ready: 'The agent answers and its tools can be called. Nothing to do.',
  AsExpected: 'Nothing is wrong. Nothing to do.',
  NotHalted: 'The circuit breaker is closed. Nothing to do.',
  Starting: 'The workload is being started. Wait.',
  Installing: 'The install step runs. Wait; its output is in the agent’s log.',
  InstallFailed:
    'The install step ended with an error or took too long. Read the end of its log in the message, then mend lifecycle.install or network.installEgress.',
  WaitingForDependency: 'An Agent in dependsOn is not Ready yet. Wait, or look at that Agent.',
  DependencyMissing: 'An Agent in dependsOn does not exist. Create it, or remove it from dependsOn.',
  DependencyCycle:
    'Agents wait for each other in a circle. Remove one of the dependencies that the message names, or give it wait: None.',
  DriverUnavailable:
    'This machine or cluster cannot run the runtime.class that was asked for. Install what the message names, or choose another class. Nothing runs without a sandbox in its place.',
  LimitsNotEnforced:
    'The agent runs, but this host cannot enforce the memory or process limits. Follow the message (delegate a cgroup), or accept it.',
  Suspended:
    'The agent is stopped because runtime.suspend is true or runtime.replicas is 0. Change that to start it.',
  Stopping: 'The workload is ending. Wait.',
  BackOff:
    'The workload ended and is started again after a pause that grows. Read the exit code and the end of the log in the message.',
  CrashLoop:
    'The workload ended six times without a minute of Ready between (after its start and after each of five restarts), and is not started any more. Mend the cause, then change the spec or resume it with `ploinky restart NAME`.',
  UpstreamNotReady:
    'The agent-server runs, but the MCP server of mcp.upstream does not answer it. Read the message and the agent’s log; of a remote server look whether it is up.',
  UpstreamNotAllowed:
    'The egress proxy does not let the agent reach its remote MCP server or the authorization server. List in network.egress what the message names; a private address has to be listed as cidr.',
  UpstreamUnauthorized:
    'The remote MCP server or its authorization server refuses the agent’s credentials. Put the right ones into the Secrets of mcp.upstream (headersFrom, oauth); they are used without a restart.',
  ConfigInvalid: 'The MCP configuration cannot be read. Mend the file or the field that the message names.',
  ConfigProblems:
    'The agent answers, but entries of its MCP configuration were left out. Mend what the message names.',
  CodeUnavailable:
    'The files for /code cannot be had: the folder, repository or image is not there or lies outside the workspace. Mend spec.code.',
  SecretMissing:
    'A Secret, ConfigMap or key that the spec refers to does not exist. Create it, or mark the reference optional.',
  UsersMissing:
    'The agent runs, but nobody can log in: what spec.auth names does not exist or cannot be read. Do what the message says.',
  ReplicasNotSupported: 'A host runs one workload of an Agent. Set runtime.replicas to 1, or use a cluster.',
  Unreachable:
    'The workload runs, but its agent-server does not answer. The controller tries again; read the agent’s log if it stays.',
  Deleting: 'The Agent is being deleted. Wait.',
  Updating:
    'Instances of an older spec are being replaced, or their number is being changed. Wait; `kubectl get pods -l ploinky.dev/agent=NAME` shows how far it is.',
  ImagePullFailed:
    'An image cannot be pulled. Check its name and spec.podTemplate.imagePullSecrets; the message has the registry’s answer.',
  ImageNotSupported:
    'The image cannot run the agent-server: it is for another processor, or for something else than Linux. Use an image for the cluster’s nodes.',
  Unschedulable:
    'No node takes the pod; the message is the scheduler’s. Lower resources.requests, change podTemplate (nodeSelector, affinity, tolerations), or add nodes.',
  VolumePending:
    'A volume of the pod is not there yet. Look at the claim that the message names (kubectl describe pvc); check storage.storageClassName.',
  ContainerConfigError:
    'A container cannot be made: something that it mounts or reads does not exist. Create what the message names.',
  ProbeFailing: 'The agent runs, but its probe fails. Read the message and the agent’s log.',
  OOMKilled:
    'The agent used more memory than resources.limits.memory and was killed. Raise the limit, or make it use less.',
  Evicted: 'The node was short of something and evicted the pod; another one is started. See the message.',
  NodeLost:
    'The node of the pod does not answer. The pod is replaced when the node comes back or is deleted (or tainted node.kubernetes.io/out-of-service).',
  QuotaExceeded:
    'A ResourceQuota or LimitRange of the namespace refuses the pod. Ask for less, or raise the quota.',
  AdmissionRefused:
    'The cluster refuses what the controller wants to create: Pod Security, a webhook or a policy. The message is its answer; mend podTemplate, or ask the administrator.',
  Forbidden:
    'The controller lacks a right that it needs in this namespace. Apply the RoleBinding that the message names (Helm value agentNamespaces).',
} as const;

/** About a Route, at ResolvedRefs and Programmed. */
export const routeReasons = {
  ResolvedRefs: 'Everything that the Route refers to exists. Nothing to do.',
  AgentNotFound: 'An Agent that the Route names does not exist. Create it, or remove it from the Route.',
  NoAgentsSelected:
    'The selector matches no Agent. Label an Agent, or change the selector; until then the Route serves nothing.',
  UsersMissing:
    'The Route is served, but nobody can log in: what spec.auth names does not exist or cannot be read. Do what the message says.',
  Programmed: 'Every router serves the Route as it is now. Nothing to do.',
  Pending: 'Not every router has taken up the newest Route yet. Wait.',
  NotAccepted: 'The Route is not served because it is not accepted. See Accepted.',
} as const;

/** About a Task, at Stalled and Complete. */
export const taskReasons = {
  Advancing: 'Nothing keeps it from getting on. Nothing to do.',
  AgentNotFound: 'The Agent, or an Agent of the role, does not exist. Create it, or delete the Task.',
  AgentNotReady: 'No Agent that could do it is Ready. Wait, or look at the Agent that the message names.',
  NoAgentWithCapabilities:
    'No Agent has all capabilities that the Task requires. Add those that the message names to spec.capabilities of an Agent.',
  AgentBusy:
    'The agent takes no more Tasks now: too many wait already, or its disk is full. It is tried again.',
  AgentUnreachable:
    'The agent-server that has the Task does not answer. It is asked again; what it did meanwhile is not lost.',
  CreateRefused:
    'What has to be made for the Task is refused by the API: a quota, a webhook or a policy. The message is its answer; mend what it names. It is tried again.',
  DependencyMissing:
    'A Task in dependsOn does not exist, or has a schedule and so never ends. Create it, or delete this Task.',
  DependencyCycle: 'Tasks wait for each other in a circle. Delete one of those that the message names.',
  Succeeded: 'The tool ended well. Nothing to do.',
  Failed: 'The tool failed; the message is its end. Mend the cause, then make the Task again.',
  TimedOut:
    'It ran for longer than timeoutSeconds or the tool’s own limit. Raise the limit, or give it less.',
  Interrupted:
    'The agent-server that ran it ended, and nobody knows how far it was. Make the Task again, or let it be tried again with retry.limit.',
  Refused: 'The agent has no such tool, or the tool does not take the input. Mend what the message names.',
  InputRequired:
    'The tool asked a question, and there is nobody to answer for a Task. Call the tool through the router instead.',
  DependencyFailed: 'A Task in dependsOn did not succeed. Make that one again, then this one.',
  Cancelled: 'It was cancelled. Nothing to do.',
} as const;

export type AcceptedReason = keyof typeof acceptedReasons;
export type AgentReason = keyof typeof agentReasons;
export type RouteReason = keyof typeof routeReasons;
export type TaskReason = keyof typeof taskReasons;
export type Reason = AcceptedReason | AgentReason | RouteReason | TaskReason;
