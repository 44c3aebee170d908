import { bodies } from '../hostile/cases/bodies.ts';
import { headers } from '../hostile/cases/headers.ts';
import { origins } from '../hostile/cases/origins.ts';
import { patterns } from '../hostile/cases/patterns.ts';
import { sessions } from '../hostile/cases/sessions.ts';
import { slow } from '../hostile/cases/slow.ts';
import { smuggling } from '../hostile/cases/smuggling.ts';
import { startPlace } from '../hostile/place.ts';
import { testCases } from '../hostile/run-cases.ts';

testCases(startPlace, [...origins, ...sessions, ...headers, ...patterns, ...bodies, ...slow, ...smuggling]);
