select * from a join b join c on x on y;
select * from a join b join c join d on 1 on 2 on 3;
SELECT * FROM (a INNER JOIN b ON x), ((SELECT 1)) AS v, (SELECT 2) AS w (c);
select * from t [broadcast] join [shuffle] u on a;
SELECT * FROM t FOR SYSTEM_TIME AS OF now() AS x, u FOR SYSTEM_VERSION AS OF 12;
select * from t tablesample system(10) repeatable(5) u;
SELECT * FROM UNNEST(a, b) WITH ORDINALITY AS u (x, y), LATERAL (SELECT 1) AS v;
SELECT * FROM f(1) AS (a int, b text), g(2) AS h (c int);
SELECT * FROM 'a.csv' AS t, (VALUES (1, 2)) AS v (x, y);
SELECT * FROM t LATERAL VIEW explode(a) x AS y LATERAL VIEW OUTER f(b) z AS u, v
