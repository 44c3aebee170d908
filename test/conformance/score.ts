import type { Scenario } from './suite.ts';

export interface Score {
  /** Scenarios that count, and those of them without a failed check. */
  readonly scenarios: Ratio;
  /** Checks of the scenarios that count; neither warnings nor what was skipped is among them. */
  readonly checks: Ratio;
  /** The scenarios that are reported but do not count. */
  readonly unscored: Ratio;
  /** `scenario:check` for each failed check, `scenario:nothing-checked` for each empty one, of all scenarios, sorted. */
  readonly failures: readonly string[];
}

export interface Ratio {
  readonly passed: number;
  readonly of: number;
}

export function scoreOf(scenarios: readonly Scenario[]): Score {
  const scored = scenarios.filter((scenario) => scenario.scored);
  const checks = scored.flatMap((scenario) => scenario.checks);
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
  const failed = checks.filter(({ status }) => status === 'FAILURE').length;
  return {
    scenarios: ratioOf(scored),
    checks: { passed, of: passed + failed },
    unscored: ratioOf(scenarios.filter((scenario) => !scenario.scored)),
    failures: [...new Set(scenarios.flatMap(failuresOf))].sort(),
  };
}

function ratioOf(scenarios: readonly Scenario[]): Ratio {
  return { passed: scenarios.filter(passes).length, of: scenarios.length };
}

/** One without any successful check has shown nothing, and does not pass. */
export function passes({ checks }: Scenario): boolean {
  return (
    checks.every(({ status }) => status !== 'FAILURE') && checks.some(({ status }) => status === 'SUCCESS')
  );
}

function failuresOf(scenario: Scenario): string[] {
  const { name, checks } = scenario;
  const failed = checks.filter(({ status }) => status === 'FAILURE').map(({ id }) => `${name}:${id}`);
  return failed.length > 0 || passes(scenario) ? failed : [`${name}:nothing-checked`];
}
