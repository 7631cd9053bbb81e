SELECT a, b FROM t;
select all a x, b as `y z`, c 'str' from db.t u;
select distinct straight_join 1;
SELECT *, t.*, db.t.* FROM t;
select * exclude (a, b) replace (a + 1 as c) rename (d as e) from t;
SELECT a.b.c[1].d, f(x).y, (z).w FROM t;
select a<>b, a!=b, a==b, a<=>b;
SELECT - -1, -x, +x, ~x, NOT x, x!;
SELECT a BETWEEN 1 AND 2 AND b NOT BETWEEN c + 1 AND 3;
SELECT a IN (1, 2), b NOT IN (SELECT c FROM t), d IN ()
