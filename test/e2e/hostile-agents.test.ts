import { hostileAnswers } from '../hostile/cases/answers.ts';
import { hostileLists } from '../hostile/cases/lists.ts';
import { startHostilePlace } from '../hostile/hostile-place.ts';
import { testCases } from '../hostile/run-cases.ts';

testCases(startHostilePlace, [...hostileLists, ...hostileAnswers]);
