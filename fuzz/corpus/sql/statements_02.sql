SELECT sum(a) OVER (PARTITION BY b, c ORDER BY d DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW);
SELECT sum(a) OVER (w RANGE UNBOUNDED PRECEDING EXCLUDE TIES), sum(b) OVER ();
SELECT extract(year FROM a), trim(BOTH 'x' FROM a), substring(a FROM 1 FOR 2), position(a IN b);
SELECT overlay(a PLACING b FROM 1 FOR 2), trim(LEADING FROM a), trim(a), substring(a, 1, 2);
SELECT now() + INTERVAL 1 day - INTERVAL a + 1 hours;
SELECT INTERVAL '1' year TO month, INTERVAL '1 day';
SELECT DATE '2020-01-01', TIMESTAMP '2020-01-01', date('x'), date;
SELECT f(x -> x + 1), f((x, y) -> x * y), f(() -> 1);
SELECT [1, 2], ARRAY[a, b], {'a': 1, b: 2}, MAP {1 : 2}, ROW(1, 2), (1, 2), a[1], a[1 : 2], a[ : ];
SELECT ?, $1, :name, @v, ${env}
