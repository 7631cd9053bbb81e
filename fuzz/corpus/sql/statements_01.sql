SELECT a IS NULL, a IS NOT NULL, a IS NOT TRUE, a IS UNKNOWN, a IS DISTINCT FROM b;
SELECT a LIKE 'x', a NOT RLIKE 'x', a LIKE '%' ESCAPE '#', a IREGEXP b;
SELECT CASE WHEN a THEN b END, CASE x WHEN 1 THEN 2 WHEN 3 THEN 4 ELSE 5 END;
SELECT CAST(a AS DECIMAL(9, 2)), CAST(a AS STRING FORMAT 'YYYY'), a::int::text;
SELECT CAST(a AS ARRAY<STRUCT<f: INT, g: MAP<STRING, ARRAY<INT>>>>);
SELECT a::int[], CAST(a AS timestamp(3) with time zone), CAST(a AS MAP(text, ROW(x int)));
SELECT count(*), count(DISTINCT a, b), f(), db.f(1), f(a => 1, b := 2, c AS d);
SELECT first_value(a IGNORE NULLS) OVER (ORDER BY b), lag(a) IGNORE NULLS OVER w FROM t WINDOW w AS (ORDER BY c);
SELECT sum(a) FILTER (WHERE b > 0), string_agg(a, ',' ORDER BY b DESC NULLS LAST);
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a)
