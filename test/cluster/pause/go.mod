module ploinky.test/pause

go 1.26.0
