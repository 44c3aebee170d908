/** The events of watchdog.log: programs that read the log know these names. */
export const watchdogEvents = [
  'process_manager_starting',
  'spawning_server',
  'server_spawned',
  'server_script_not_found',
  'spawn_error',
  'spawn_blocked_circuit_breaker',
  'process_exited',
  'clean_exit',
  'intentional_signal',
  'unexpected_exit',
  'fatal_error_no_restart',
  'configuration_error',
  'restart_skipped',
  'scheduling_restart',
  'circuit_breaker_tripped',
  'successful_run_detected',
  'health_check_failed',
  'health_check_recovered',
  'health_check_restart',
  'health_check_threshold_exceeded',
  'stopping_child_process',
  'force_killing_child',
  'watchdog_shutting_down',
  'watchdog_exiting',
  'shutdown_complete',
  'watchdog_uncaught_exception',
  'watchdog_unhandled_rejection',
  'router_output_log_failed',
  // Ours: what a workspace has beside its router.
  'lease_write_failed',
  'stopping_workloads',
  'force_killing_workload',
] as const;
export type WatchdogEvent = (typeof watchdogEvents)[number];

export type Level = 'debug' | 'info' | 'warn' | 'error';
export type EventFields = Readonly<Record<string, unknown>>;

/** Writes one event. Never throws. */
export type Journal = (level: Level, event: WatchdogEvent, fields?: EventFields) => void;
